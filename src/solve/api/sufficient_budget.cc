#include "solve/api/sufficient_budget.h"

#include <algorithm>

#include "checkmate/simulate.h"
#include "solve/anneal/anneal.h"
#include "solve/common/incumbent.h"
#include "solve/segment_heuristic/segment_heuristic.h"

namespace checkmate {
namespace {

constexpr std::uint64_t kProbes = 10;

/// Any plan within the budget; without one, the smallest peak that the search saw.
Outcome probe(const SearchContext& search) {
  Incumbent incumbent(search);
  segmented_start(search, incumbent);
  if (!incumbent.has_plan()) anneal(search, incumbent, search.options.seed);
  return incumbent.outcome();
}

}  // namespace

Bytes sufficient_budget(const SearchContext& search, Bytes needed, Bytes known) {
  constexpr double kSeconds = 1;
  const SearchContext all = search.part(std::min(0.1, kSeconds / std::max(search.seconds_left(), kSeconds)));
  SolveOptions options = search.options;
  options.order = Order::kFixed;  // a plan of the fixed order is one of any order
  options.gap = 1;                // the first plan ends a probe
  options.moves = search.by_moves() ? std::max<std::uint64_t>(1, search.moves() / (10 * kProbes)) : 0;
  options.on_progress = {};
  Bytes fails = needed - Bytes{1};
  for (std::uint64_t left = kProbes; left > 0 && (known - fails).count() > 1 && !all.stopped(); --left) {
    options.budget = fails + Bytes{(known - fails).count() / 2};
    const SearchContext here = all.with_options(options);
    const Outcome outcome = probe(here.by_moves() ? here : here.part(1.0 / static_cast<double>(left)));
    if (outcome.steps) {
      known = simulate(search.graph, *plan_from_steps(search.graph, *outcome.steps))->peak;
    } else {
      fails = options.budget;
      known = std::min(known, outcome.sufficient.value_or(known));
    }
  }
  return known;
}

}  // namespace checkmate
