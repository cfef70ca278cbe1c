#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace checkmate {

/// A number such as `12.5`, held exactly: sizes and shares that people write must not pass through a double.
struct Decimal {
  std::size_t length = 0;   ///< characters read; 0 when the text does not start with a number
  bool too_large = false;   ///< more digits than 2^63 has
  std::int64_t digits = 0;  ///< value = digits / scale
  std::int64_t scale = 1;

  /// Reads digits with at most one point from the start of the text. No sign, no exponent.
  static Decimal read_prefix(std::string_view text);

  bool fractional() const { return digits % scale != 0; }
  /// value x factor / divisor rounded down; nothing when it does not fit.
  std::optional<std::int64_t> times(std::int64_t factor, std::int64_t divisor = 1) const;
};

}  // namespace checkmate
