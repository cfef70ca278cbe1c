#include "core/text.h"

#include <fmt/format.h>

namespace checkmate {

namespace {

/// The character at the start of the text, if a terminal would act on it instead of showing it: controls,
/// line and paragraph separators, and marks that turn the direction of what follows. 0 and 0 for any other.
struct Active {
  std::size_t bytes = 0;
  unsigned code = 0;
};
Active active_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return {1, byte(0)};
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return {2, byte(1)};
  if (byte(0) == 0xD8 && byte(1) == 0x9C) return {2, 0x061C};
  if (byte(0) != 0xE2 || (byte(1) != 0x80 && byte(1) != 0x81)) return {};
  const unsigned code = 0x2000 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  const bool mark = code == 0x200E || code == 0x200F;
  const bool separates_or_turns = code >= 0x2028 && code <= 0x202E;
  const bool isolates = code >= 0x2066 && code <= 0x2069;
  return mark || separates_or_turns || isolates ? Active{3, code} : Active{};
}

}  // namespace

std::string printable(std::string_view name, std::size_t limit) {
  const bool cut = name.size() > limit;
  if (cut) {
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
    name = name.substr(0, end);
  }
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const Active active = active_character(name.substr(i));
    if (active.bytes == 0) {
      text += name[i];
    } else {
      text +=
          active.code < 0x80 ? fmt::format("\\x{:02x}", active.code) : fmt::format("\\u{:04x}", active.code);
      i += active.bytes - 1;
    }
  }
  return cut ? text + "..." : text;
}

std::string printable_json(std::string_view json) {
  std::string text;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Active active = active_character(json.substr(i));
    if (active.code < 0x7F) {
      text += json[i];
    } else {
      text += fmt::format("\\u{:04x}", active.code);
      i += active.bytes - 1;
    }
  }
  return text;
}

std::string in_quotes(std::string_view name) { return fmt::format("'{}'", printable(name)); }

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", grouped(static_cast<std::int64_t>(count)), thing, count == 1 ? "" : "s");
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t place = digits.size(); place > first + 3;) digits.insert(place -= 3, 1, ',');
  return digits;
}

std::string exact(Bytes bytes) {
  const std::string count = grouped(bytes.count()) + (bytes == Bytes{1} ? " byte" : " bytes");
  return bytes < Bytes{1024} ? count : fmt::format("{} ({})", to_string(bytes), count);
}

}  // namespace checkmate
