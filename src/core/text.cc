#include "core/text.h"

#include <fmt/format.h>

namespace checkmate {

std::string printable(std::string_view name, std::size_t limit) {
  const bool cut = name.size() > limit;
  if (cut) {
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
    name = name.substr(0, end);
  }
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const auto byte = static_cast<unsigned char>(c);
    const auto next = static_cast<unsigned char>(i + 1 < name.size() ? name[i + 1] : 0);
    const bool control = byte == 0xC2 && next >= 0x80 && next < 0xA0;                 // U+0080 to U+009F
    const bool separator = name.substr(i, 2) == "\xE2\x80" && i + 2 < name.size() &&  // U+2028, U+2029
                           (name[i + 2] == '\xA8' || name[i + 2] == '\xA9');
    if (byte < 0x20 || byte == 0x7F || control || separator) {
      // All bytes of a character, or what is left of it is not UTF-8.
      const std::size_t last = i + (control ? 1 : separator ? 2 : 0);
      for (; i < last; ++i) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[i]));
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[last]));
    } else {
      text += c;
    }
  }
  return cut ? text + "..." : text;
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
