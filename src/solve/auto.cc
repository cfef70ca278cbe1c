#include <algorithm>

#include "checkmate/simulate.h"
#include "solve/solver.h"

namespace checkmate {

Outcome cheapest(const Search& search, std::span<const Solver> methods) {
  Outcome best{.detail = "no method found a plan within the budget"};
  Cost best_cost;
  for (const Solver& solver : methods) {
    if (search.stopped()) {
      if (!best.steps) best.detail = "stopped before the first plan";
      break;
    }
    Outcome outcome = solver.run(search);
    if (outcome.min_feasible) return outcome;
    best.lower_bound = std::max(best.lower_bound, outcome.lower_bound);
    best.stage_lower_bound = std::max(best.stage_lower_bound, outcome.stage_lower_bound);
    if (outcome.least_peak && !outcome.steps) {
      best.least_peak = std::min(*outcome.least_peak, best.least_peak.value_or(*outcome.least_peak));
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

Outcome solve_auto(const Search& search) {
  // Brute force leaves all but tiny graphs alone; where it does not, it proves what the baselines found.
  std::vector<Solver> methods(baselines().begin(), baselines().end());
  for (const Solver& solver : solvers()) {
    if (solver.info.exact) methods.push_back(solver);
  }
  return cheapest(search, methods);
}

}  // namespace checkmate
