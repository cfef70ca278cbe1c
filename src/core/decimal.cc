#include "core/decimal.h"

#include <limits>

namespace checkmate {

Decimal Decimal::read_prefix(std::string_view text) {
  constexpr std::int64_t kMostScale = 1'000'000'000'000'000;
  Decimal number;
  bool point = false;
  bool any_digit = false;
  std::size_t place = 0;
  for (; place < text.size(); ++place) {
    const char c = text[place];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any_digit = true;
      if (point && number.scale >= kMostScale) continue;  // rounds down, as it should
      if (number.digits > (INT64_MAX - 9) / 10) {
        number.too_large = true;
      } else {
        number.digits = number.digits * 10 + (c - '0');
        if (point) number.scale *= 10;
      }
    } else {
      break;
    }
  }
  number.length = any_digit ? place : 0;
  return number;
}

std::optional<std::int64_t> Decimal::times(std::int64_t factor, std::int64_t divisor) const {
  __extension__ using Wide = __int128;  // digits and factor are below 2^63, so their product always fits
  const Wide product = static_cast<Wide>(digits) * factor / (static_cast<Wide>(scale) * divisor);
  if (too_large || product > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

}  // namespace checkmate
