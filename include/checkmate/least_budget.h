#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/units.h"

#pragma GCC visibility push(default)
namespace checkmate {

struct LeastBudgetOptions {
  Order order = Order::kFixed;
  std::chrono::duration<double> time_limit{10};
  int threads = 1;               ///< maximum number of threads
  std::uint64_t seed = 1;        ///< of what is tried at random
  double gap = 1e-3;             ///< stop when (sufficient - needed) / sufficient is at most this
  std::vector<OpId> start = {};  ///< the runs of a plan to start from
};

/// The smallest budget that has a plan lies between `needed` and `sufficient`. All bytes include the graph's
/// fixed ones.
struct LeastBudget {
  Bytes needed;             ///< proven: no plan of the order fits in less
  Bytes sufficient;         ///< the plan's peak
  Plan plan;                ///< chosen for its peak, not for its cost
  Cost cost;                ///< of the plan
  std::string_view method;  ///< what found the plan
  std::string detail;       ///< one sentence: why so much is needed
  double seconds = 0;

  bool exact() const { return needed == sufficient; }
};

/// Looks for plans with smaller and smaller peaks, whatever they cost, and for proofs that less is not
/// possible. Keep-all is a plan, so there is always an answer, and more time only narrows it. The plan has
/// been replayed by simulate() and validate(). Errors and thread-safety as for solve().
Result<LeastBudget> least_budget(const Graph& graph, const LeastBudgetOptions& options,
                                 std::stop_token stop = {});

}  // namespace checkmate
#pragma GCC visibility pop
