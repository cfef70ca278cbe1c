#pragma once

#include <string>

#include "checkmate/solve.h"

namespace checkmate {

/// Where another search's plan, known to fit, is cheaper than the result's own, it becomes the result's plan:
/// not every method begins with the plan that it is given.
inline void take_over(SolveResult& result, const SolveResult& other, std::string detail) {
  if (!other.plan || (result.plan && *result.cost <= *other.cost)) return;
  result.plan = other.plan;
  result.cost = other.cost;
  result.peak = other.peak;
  result.needed.reset();
  result.sufficient.reset();
  result.sufficient_plan.reset();
  result.detail = std::move(detail);
  const bool optimal = *result.cost == result.lower_bound;
  result.status = optimal ? Status::kOptimal : Status::kFeasible;
  if (optimal) result.stop_reason = StopReason::kGapClosed;
}

}  // namespace checkmate
