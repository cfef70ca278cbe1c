#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace checkmate {

/// Appends JSON to a string. Values follow one another on a line; line() starts a new one, for
/// readability.
///
///     JsonWriter json;
///     json.begin_object().member("name", "x").member("bytes", 4).end_object();
///     json.text()                                        // {"name": "x", "bytes": 4}
class JsonWriter {
 public:
  enum class Spacing { kReadable, kCompact };  ///< compact: no space after commas and colons
  explicit JsonWriter(Spacing spacing = Spacing::kReadable) : compact_(spacing == Spacing::kCompact) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(
      double number);  ///< the shortest text that reads back as the same number; null when not finite
  JsonWriter& value(std::integral auto number) { return raw(std::to_string(number)); }
  JsonWriter& null() { return raw("null"); }

  template <class Value>
  JsonWriter& member(std::string_view name, const Value& member_value) {
    return key(name).value(member_value);
  }
  /// The next value, or the closing bracket, starts a new line.
  JsonWriter& line() { return break_line_ = true, *this; }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate(bool comma);
  void append_quoted(std::string_view text);

  std::string text_;
  bool compact_;
  bool need_comma_ = false;
  bool break_line_ = false;
};

}  // namespace checkmate
