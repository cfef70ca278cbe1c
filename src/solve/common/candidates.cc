#include "solve/common/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkmate/simulate.h"
#include "solve/common/prune_recomputations.h"

namespace checkmate {

bool Candidates::offer(std::optional<std::vector<OpId>> steps) {
  if (!steps) return false;
  std::int64_t cost = 0;
  for (const OpId op : *steps) {
    if (__builtin_add_overflow(cost, search_.graph.cost(op).count(), &cost))
      return false;  // not a plan that anyone would run
  }
  const Result<Plan> plan = plan_from_steps(search_.graph, *steps);
  const Result<Simulation> simulation = plan ? simulate(search_.graph, *plan) : plan.error();
  if (!simulation) throw std::logic_error("an expansion must be runnable: " + simulation.error().message);
  best_.sufficient = std::min(simulation->peak, best_.sufficient.value_or(simulation->peak));
  if (simulation->peak > search_.options.budget) return false;
  if (!best_.steps || simulation->cost < best_cost_) {
    if (!best_.steps) best_.first_plan_seconds = search_.seconds();
    best_.steps = std::move(steps);
    best_cost_ = simulation->cost;
    search_.report([this] { return *best_.steps; },
                   [this] {
                     return Progress{search_.seconds(), best_cost_, std::nullopt, search_.options.method};
                   });
  }
  return true;
}

bool Candidates::offer_pruned(std::optional<std::vector<OpId>> steps) {
  if (!steps) return false;
  if (!offer(steps)) return false;
  // Many roundings are equal, and pruning costs more than comparing.
  if (!pruned_.insert(*steps).second) return true;
  return offer(prune_recomputations(search_, std::move(*steps)));
}

Outcome Candidates::outcome() && {
  if (best_.steps) return std::move(best_);
  if (best_.sufficient) {
    best_.detail =
        fmt::format("the smallest peak that this method reaches is {}", to_string(*best_.sufficient));
  } else {
    best_.detail = "stopped before the first plan: out of time, or the plan is too long or too expensive";
  }
  return std::move(best_);
}

}  // namespace checkmate
