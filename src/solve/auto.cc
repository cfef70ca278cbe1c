#include "checkmate/simulate.h"
#include "solve/solver.h"

namespace checkmate {

/// Asks every other method in turn. Each plan that fits is costed by the simulator.
Outcome solve_auto(const Search& search) {
  Outcome best{.detail = "no method found a plan within the budget"};
  Cost best_cost;
  for (const Solver& solver : solvers().subspan(1)) {
    if (search.stopped()) break;
    if (search.options.order == Order::kFree && solver.info.name == "brute-stages") continue;
    Outcome outcome = solver.run(search);
    if (outcome.lower_bound) best.lower_bound = outcome.lower_bound;
    if (outcome.min_feasible) return outcome;
    if (outcome.least_peak && !outcome.steps) {
      best.least_peak = std::min(*outcome.least_peak, best.least_peak.value_or(*outcome.least_peak));
    }
    if (!outcome.steps) continue;
    const Cost cost = simulate(search.graph, *plan_from_steps(search.graph, *outcome.steps))->cost;
    if (best.steps && cost >= best_cost) continue;
    best.steps = std::move(outcome.steps);
    best.method = solver.info.name;
    best.detail.clear();
    best_cost = cost;
  }
  return best;
}

}  // namespace checkmate
