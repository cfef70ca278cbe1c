#pragma once

#include <cmath>
#include <limits>

#include "checkmate/units.h"

namespace checkmate {

/// The nearest whole cost; nothing below 0. What exceeds kLargestTotal becomes the largest number, so
/// that Graph::with_costs() refuses it instead of accepting a clipped cost.
inline Cost whole_cost(double amount) {
  if (!(amount > 0)) return Cost{0};
  if (amount >= static_cast<double>(kLargestTotal)) return Cost{std::numeric_limits<std::int64_t>::max()};
  return Cost{std::llround(amount)};
}

}  // namespace checkmate
