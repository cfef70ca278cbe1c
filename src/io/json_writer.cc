#include "io/json_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace checkmate {

void JsonWriter::separate(bool comma) {
  if (comma && need_comma_) text_ += break_line_ || compact_ ? "," : ", ";
  if (break_line_) text_ += '\n';
  break_line_ = false;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate(true);
  text_ += text;
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  raw(std::string_view(&bracket, 1));
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  separate(false);
  text_ += bracket;
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate(true);
  append_quoted(name);
  text_ += compact_ ? ":" : ": ";
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate(true);
  append_quoted(text);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}

void JsonWriter::append_quoted(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

}  // namespace checkmate
