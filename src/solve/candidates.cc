#include "solve/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkmate/simulate.h"
#include "solve/fill.h"

namespace checkmate {

bool Candidates::offer(std::optional<std::vector<OpId>> steps) {
  if (!steps) return false;
  const Result<Plan> plan = plan_from_steps(search_.graph, *steps);
  const Result<Simulation> simulation = plan ? simulate(search_.graph, *plan) : plan.error();
  if (!simulation) throw std::logic_error("an expansion must run: " + simulation.error().message);
  best_.least_peak = std::min(simulation->peak, best_.least_peak.value_or(simulation->peak));
  if (simulation->peak > search_.options.budget) return false;
  if (!best_.steps || simulation->cost < best_cost_) {
    best_.steps = std::move(steps);
    best_cost_ = simulation->cost;
  }
  return true;
}

bool Candidates::offer_filled(std::optional<std::vector<OpId>> steps) {
  if (!steps) return false;
  if (!offer(steps)) return false;
  // Equal roundings are many, and filling costs more than comparing.
  if (!filled_.insert(*steps).second) return true;
  return offer(fill(search_, std::move(*steps)));
}

Outcome Candidates::outcome() && {
  if (best_.steps) return std::move(best_);
  if (best_.least_peak) {
    best_.detail = fmt::format("the least peak that this method reaches is {}", to_string(*best_.least_peak));
  } else {
    best_.detail = "stopped before the first plan: the time is up, or the plan passes 2^26 steps";
  }
  return std::move(best_);
}

}  // namespace checkmate
