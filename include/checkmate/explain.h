#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/simulate.h"
#include "checkmate/solve.h"

#pragma GCC visibility push(default)
/// What a plan does with its memory, and what more or less memory would be worth.
namespace checkmate {

/// An op that runs again.
struct Recomputation {
  OpId op;
  std::uint32_t times;  ///< runs beyond the first
  Cost cost;            ///< of those runs
  bool operator==(const Recomputation&) const = default;
};

struct Explanation {
  Cost recomputed_cost;                   ///< of all runs beyond the first
  std::vector<Recomputation> recomputed;  ///< the most expensive first
  /// Stays of more than one step, the longest first; among equally long ones, the largest first. Outputs,
  /// which no plan may free, and tensors without bytes are left out.
  std::vector<LiveInterval> kept;
  Bytes peak;
  std::vector<std::uint32_t> peak_steps;  ///< all steps with that memory, in order; never empty
  std::vector<LiveInterval> at_peak;      ///< the tensors at the first of those, the largest first
  /// The peak is the sum of this, the tensors' bytes and the graph's fixed bytes.
  Bytes peak_workspace;
};

/// Uses the simulator only, whatever made the plan. An error where the plan cannot run. Linear time, except
/// for sorting.
Result<Explanation> explain(const Graph& graph, const Plan& plan);

/// What the same search finds with a little less and a little more memory.
struct PriceOfMemory {
  struct Neighbour {
    Bytes budget;
    Status status = Status::kUnknown;
    std::optional<Cost> cost = {};  ///< of its plan
    std::string detail = {};        ///< why there is no plan, where that is known
  };
  Bytes step;       ///< a GiB, or for budgets below 4 GiB a twentieth of them
  Neighbour less;   ///< a step below the budget
  Neighbour more;   ///< a step above; never more expensive than the plan in between
  Cost more_saves;  ///< how much less the plan for more memory costs than the one in between
  /// How much more the plan for less memory costs, if there is one. Negative where the search in between
  /// stopped early: the plan for less memory is better.
  std::optional<Cost> less_costs = {};
  bool interrupted = false;  ///< the token stopped a search, so the figures are meaningless
};

/// Solves twice more, with the same options and a third of the time each. `around` is the answer to
/// `options`. An error where that has no plan.
Result<PriceOfMemory> price_of_memory(const Graph& graph, const SolveOptions& options,
                                      const SolveResult& around, const std::stop_token& stop = {});

}  // namespace checkmate
#pragma GCC visibility pop
