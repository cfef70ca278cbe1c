#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solve/common/search_context.h"

namespace checkmate {

/// What a method answers. solve() does the rest, the same for all: options, the structural test, replay,
/// bounds, times.
struct Outcome {
  std::optional<std::vector<OpId>> steps = {};             ///< within the budget with their tightest frees
  std::optional<Cost> lower_bound = {};                    ///< for every plan of the order
  std::optional<Cost> stage_lower_bound = {};              ///< for the paper's class of plans
  std::optional<Bytes> sufficient = {};                    ///< of the plans that were tried, where none fits
  std::optional<std::vector<OpId>> sufficient_steps = {};  ///< a plan with that peak, if it is at hand
  std::optional<Bytes> needed = {};  ///< proven: no plan fits in less; above the budget: infeasible
  std::optional<double> first_plan_seconds = {};
  std::string detail = {};
  std::string_view method = {};  ///< where a method ran others: the one that found the plan
  std::uint64_t moves = 0;       ///< of annealing
  /// Where the method knows better than the clock: too little time for its next step, a limit of work.
  std::optional<StopReason> stop_reason = {};
};

struct Solver {
  MethodInfo info;
  Outcome (*run)(const SearchContext& search);
};

}  // namespace checkmate
