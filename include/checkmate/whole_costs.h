#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/result.h"
#include "checkmate/units.h"

#pragma GCC visibility push(default)
/// Costs with fractions. Inside, a Cost is a whole number; one that was measured as 1.25 ms is 125 of a unit
/// that is called `ms/10^2`: 125 ms/10^2 are 1.25 ms.
namespace checkmate {

/// digits x 10^exponent, 0 or more.
struct DecimalCost {
  std::int64_t digits = 0;
  int exponent = 0;
  bool whole() const { return exponent >= 0; }
};

/// A number as JSON and Python write it: `12`, `0.125`, `1.5e-3`. Digits that a 64-bit number has no
/// room for, from the 19th on, are dropped. An error for anything else and for a negative number.
Result<DecimalCost> parse_decimal_cost(std::string_view text);

struct WholeCosts {
  std::vector<Cost> costs;
  std::string unit;
};

/// The sum of scaled costs stays below this, where a double still counts in ones.
inline constexpr std::int64_t kLargestScaledTotal = 1'000'000'000'000'000;

/// All costs times 10^k, and the unit `UNIT/10^k`. k is the smallest that leaves no fraction, or else the
/// largest whose sum stays within kLargestScaledTotal; then costs are rounded to the nearest whole number,
/// which changes each by less than a 10^14th of their sum. Whole costs remain as they are. An error for a
/// cost above kLargestTotal.
Result<WholeCosts> whole_costs(std::span<const DecimalCost> costs, std::string_view unit);

/// `ms/10^3` as `ms` and 3; any other unit as itself and 0.
struct ScaledUnit {
  std::string_view unit;
  int power = 0;
};
ScaledUnit scaled_unit(std::string_view cost_unit);

/// For people, in the unit that was scaled: `1,234.5 ms` for 1,234,500 of `ms/10^3`.
std::string to_string(Cost cost, std::string_view cost_unit);

}  // namespace checkmate
#pragma GCC visibility pop
