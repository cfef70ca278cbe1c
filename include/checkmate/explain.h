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

/// What a plan does with the memory it has, and what other memory would be worth.
namespace checkmate {

/// An op that runs again.
struct Recomputation {
  OpId op;
  std::uint32_t times;  ///< runs beyond the first
  Cost cost;            ///< of those
  bool operator==(const Recomputation&) const = default;
};

struct Explanation {
  Cost recomputed_cost;                   ///< of all runs beyond the first
  std::vector<Recomputation> recomputed;  ///< the dearest first
  /// Stays of more than one step, the longest first, of equally long ones the largest. Outputs, which no plan
  /// may free, and tensors without bytes are left out.
  std::vector<LiveInterval> kept;
  Bytes peak;
  std::vector<std::uint32_t> peak_steps;  ///< all that need it, in order; never empty
  std::vector<LiveInterval> at_peak;      ///< the tensors at the first of those, the largest first
  /// With the tensors' bytes and the graph's fixed bytes, these are the peak.
  Bytes peak_workspace;
};

/// From the simulator alone, whoever made the plan. An error where the plan cannot run. Linear time, but for
/// sorting.
Result<Explanation> explain(const Graph& graph, const Plan& plan);

/// What the same search finds with a little less and a little more memory.
struct PriceOfMemory {
  struct Neighbour {
    Bytes budget;
    Status status = Status::kUnknown;
    std::optional<Cost> cost = {};  ///< of its plan
    std::string detail = {};        ///< why there is none, where that is known
  };
  Bytes step;       ///< a GiB, or for budgets below 4 GiB a twentieth of them
  Neighbour less;   ///< a step below the budget
  Neighbour more;   ///< a step above; never dearer than the plan in between, which fits there too
  Cost more_saves;  ///< what the plan for more memory costs less than the one in between
  /// What the plan for less memory, if there is one, costs more. Negative where the search in between was cut
  /// short: the plan for less would have done.
  std::optional<Cost> less_costs = {};
  bool interrupted = false;  ///< the token stopped a search: the figures are of no use
};

/// Solves twice more, with the same options and a third of the time each. `around` is the answer to
/// `options`. An error where that has no plan.
Result<PriceOfMemory> price_of_memory(const Graph& graph, const SolveOptions& options,
                                      const SolveResult& around, const std::stop_token& stop = {});

}  // namespace checkmate
