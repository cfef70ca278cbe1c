#include "lp/safe_bound.h"

#include <algorithm>
#include <cmath>

#include "lp/linear_program.h"

namespace checkmate {

std::optional<Cost> safe_bound(const Graph& graph, double bound) {
  constexpr double kTolerance = 1e-6;  // HiGHS's own, for feasibility and optimality
  if (!std::isfinite(bound) || bound <= -LinearProgram::kInfinity) return std::nullopt;
  const double safe = std::ceil(bound - kTolerance * std::max(1.0, std::abs(bound)));
  if (safe >= static_cast<double>(kLargestTotal)) return std::nullopt;
  return std::max(graph.keep_all_cost(), Cost{static_cast<std::int64_t>(safe)});
}

}  // namespace checkmate
