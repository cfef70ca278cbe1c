#include "solve/baselines/baselines.h"

#include <algorithm>
#include <array>

#include "checkmate/simulate.h"
#include "solve/baselines/checkpoints.h"
#include "solve/baselines/griewank.h"
#include "solve/baselines/keep_all.h"
#include "solve/baselines/last_node.h"

namespace checkmate {
namespace {

constexpr std::array kBaselines = std::to_array<Solver>({
    {{.name = "keep-all", .summary = "every op once, nothing recomputed"}, solve_keep_all},
    {{.name = "chen-sqrt", .summary = "Chen et al.: sqrt(n) segments of a chain", .needs_chain = true},
     solve_chen_sqrt},
    {{.name = "chen-greedy", .summary = "Chen et al.: segments of a chain by bytes", .needs_chain = true},
     solve_chen_greedy},
    {{.name = "ap-sqrt", .summary = "sqrt(n) segments between articulation points"}, solve_ap_sqrt},
    {{.name = "ap-greedy", .summary = "segments between articulation points by bytes"}, solve_ap_greedy},
    {{.name = "linear-sqrt", .summary = "sqrt(n) segments of the linearized forward part"},
     solve_linear_sqrt},
    {{.name = "linear-greedy", .summary = "segments of the linearized forward part by bytes"},
     solve_linear_greedy},
    {{.name = "griewank", .summary = "Griewank and Walther's revolve on a chain", .needs_chain = true},
     solve_griewank},
    {{.name = "ap-griewank", .summary = "revolve on the chain of articulation points"}, solve_ap_griewank},
    {{.name = "last-node",
      .summary = "keeps only the latest value and recomputes everything else every time"},
     solve_last_node},
});

}  // namespace

std::span<const Solver> baselines() { return kBaselines; }

Outcome cheapest_baseline(const SearchContext& search) {
  Outcome best{.detail = "no method found a plan within the budget"};
  Cost best_cost;
  for (const Solver& solver : kBaselines) {
    if (search.stopped()) {
      if (!best.steps) best.detail = "stopped before the first plan";
      break;
    }
    Outcome outcome = solver.run(search);
    if (outcome.needed) return outcome;
    best.lower_bound = std::max(best.lower_bound, outcome.lower_bound);
    best.stage_lower_bound = std::max(best.stage_lower_bound, outcome.stage_lower_bound);
    if (outcome.sufficient && !outcome.steps) {
      best.sufficient = std::min(*outcome.sufficient, best.sufficient.value_or(*outcome.sufficient));
    }
    if (!outcome.steps) continue;
    const Cost cost = simulate(search.graph, *plan_from_steps(search.graph, *outcome.steps))->cost;
    if (!best.first_plan_seconds) best.first_plan_seconds = outcome.first_plan_seconds;
    if (best.steps && cost >= best_cost) continue;
    best.steps = std::move(outcome.steps);
    best.method = solver.info.name;
    best.detail.clear();
    best_cost = cost;
    if (cost == search.graph.keep_all_cost()) break;  // nothing is cheaper
  }
  return best;
}

}  // namespace checkmate
