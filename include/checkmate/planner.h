#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// Searches on one graph whose budget or costs change between them. What was found and proven before is kept
/// where it still holds:
///
/// - A bound that was proven for a budget holds for every smaller one, which has fewer plans.
/// - Where the budget is infeasible, so is every smaller one, whatever ops cost.
/// - Under other costs, running an op again costs at least the least ratio of new to old cost times what it
///   did, and so does what a plan recomputes. Where a cost falls to 0, nothing but keep-all's cost is left.
/// - Plans are what the next search starts from.
///
/// Not thread-safe.
class Planner {
 public:
  /// The options are those of every search. Their start is the first plan that is tried, and their budget the
  /// first budget.
  Planner(Graph graph, SolveOptions options);

  const Graph& graph() const { return graph_; }
  Bytes budget() const { return options_.budget; }
  void set_budget(Bytes budget) { options_.budget = budget; }
  /// One cost per op. An error as of Graph::with_costs(), and the costs are the old ones.
  Result<void> set_costs(std::span<const Cost> costs, std::string cost_unit);

  /// Known by now: no plan of the order within the budget is cheaper.
  Cost lower_bound() const;
  /// As checkmate::solve(), but it ends as soon as the plan is within the gap of the best bound known, which
  /// may be before it began.
  Result<SolveResult> solve(std::stop_token stop = {});

 private:
  /// What recomputations cost at least, by the budget for which it was proven.
  using Bounds = std::map<Bytes, Cost>;
  struct Known {
    std::vector<OpId> steps;
    Cost cost;
    Bytes peak;
  };

  std::optional<Cost> bound(const Bounds& bounds) const;
  void learn(const SolveResult& result);
  void remember(std::vector<OpId> steps);
  const Known* start() const;
  SolveResult improved(SolveResult result) const;

  Graph graph_;
  SolveOptions options_;
  Bounds bounds_, stage_bounds_;
  std::optional<Bytes> needed_;  ///< proven: no plan fits in less
  std::vector<Known> plans_;     ///< each cheaper, or with a smaller peak, than every other
};

}  // namespace checkmate
#pragma GCC visibility pop
