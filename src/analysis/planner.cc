#include "checkmate/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkmate/simulate.h"
#include "core/guarded.h"
#include "core/text.h"
#include "core/try.h"

namespace checkmate {
namespace {

/// A share of a cost, exact.
struct Ratio {
  std::int64_t over = 1, under = 1;
  bool operator<(const Ratio& other) const {
    return static_cast<__int128>(over) * other.under < static_cast<__int128>(other.over) * under;
  }
  /// Of a whole cost, rounded up: costs are whole.
  Cost of(Cost cost) const {
    const __int128 product = static_cast<__int128>(over) * cost.count();
    const __int128 rounded = (product + under - 1) / under;
    return Cost{static_cast<std::int64_t>(std::min<__int128>(rounded, kLargestTotal))};
  }
};

/// By how much, at least, the cost of running anything again has changed.
Ratio least_ratio(const Graph& before, const Graph& now) {
  std::optional<Ratio> least;
  for (const OpId op : before.ops()) {
    if (!before.recomputable(op) || before.cost(op) == Cost{0}) continue;
    const Ratio ratio{now.cost(op).count(), before.cost(op).count()};
    if (!least || ratio < *least) least = ratio;
  }
  return least.value_or(Ratio{});
}

}  // namespace

Planner::Planner(Graph graph, SolveOptions options) : graph_(std::move(graph)), options_(std::move(options)) {
  if (!options_.start.empty()) remember(std::exchange(options_.start, {}));
}

Result<void> Planner::set_costs(std::span<const Cost> costs, std::string cost_unit) {
  CHECKMATE_TRY(Graph changed, graph_.with_costs(costs, std::move(cost_unit)));
  const Ratio ratio = least_ratio(graph_, changed);
  for (Bounds* bounds : {&bounds_, &stage_bounds_}) {
    for (auto& [budget, extra] : *bounds) extra = ratio.of(extra);
  }
  graph_ = std::move(changed);
  for (Known& known : std::exchange(plans_, {})) remember(std::move(known.steps));
  return {};
}

std::optional<Cost> Planner::bound(const Bounds& bounds) const {
  std::optional<Cost> best;
  for (auto at = bounds.lower_bound(options_.budget); at != bounds.end(); ++at)
    best = std::max(best, std::optional(graph_.keep_all_cost() + at->second));
  return best;
}

Cost Planner::lower_bound() const { return bound(bounds_).value_or(graph_.keep_all_cost()); }

void Planner::remember(std::vector<OpId> steps) {
  const Result<Plan> plan = plan_from_steps(graph_, std::move(steps));
  const Result<Simulation> run = plan ? simulate(graph_, *plan) : plan.error();
  if (!run) return;
  const auto as_good = [](const Known& one, Cost cost, Bytes peak) {
    return one.cost <= cost && one.peak <= peak;
  };
  if (std::any_of(plans_.begin(), plans_.end(),
                  [&](const Known& known) { return as_good(known, run->cost, run->peak); }))
    return;
  Known found{plan->steps, run->cost, run->peak};
  std::erase_if(plans_, [&](const Known& known) { return as_good(found, known.cost, known.peak); });
  plans_.push_back(std::move(found));
}

const Planner::Known* Planner::start() const {
  const auto better = [&](const Known& a, const Known& b) {
    const bool a_fits = a.peak <= options_.budget;
    const bool b_fits = b.peak <= options_.budget;
    if (a_fits != b_fits) return a_fits;
    return a_fits ? a.cost < b.cost : a.peak < b.peak;
  };
  const auto best = std::min_element(plans_.begin(), plans_.end(), better);
  return best == plans_.end() ? nullptr : &*best;
}

void Planner::learn(const SolveResult& result) {
  const auto raise = [&](Bounds& bounds, Cost bound) {
    Cost& extra = bounds[options_.budget];
    extra = std::max(extra, bound - graph_.keep_all_cost());
  };
  // Where nothing fits, every bound holds, and says nothing about other costs.
  if (result.status == Status::kInfeasible) {
    needed_ = std::max(needed_, result.needed);
    return;
  }
  raise(bounds_, result.lower_bound);
  if (result.stage_lower_bound) raise(stage_bounds_, *result.stage_lower_bound);
  if (result.plan) remember(result.plan->steps);
}

SolveResult Planner::improved(SolveResult result) const {
  result.lower_bound = std::max(result.lower_bound, lower_bound());
  const std::optional<Cost> staged = bound(stage_bounds_);
  if (staged) result.stage_lower_bound = std::max(result.stage_lower_bound.value_or(*staged), *staged);
  if (!result.cost) return result;
  if (*result.cost == result.lower_bound) result.status = Status::kOptimal;
  if (relative_gap(*result.cost, result.lower_bound) <= options_.gap)
    result.stop_reason = StopReason::kGapClosed;
  return result;
}

Result<SolveResult> Planner::solve(std::stop_token stop) {
  return guarded([&]() -> Result<SolveResult> {
    SolveOptions options = options_;
    if (needed_ && *needed_ > options.budget) {
      SolveResult result;
      result.status = Status::kInfeasible;
      result.stop_reason = StopReason::kInfeasible;
      result.detail = fmt::format("every plan needs at least {}", exact(*needed_));
      result.method = options.method;
      result.lower_bound = graph_.keep_all_cost();
      result.needed = needed_;
      return result;
    }
    const Cost known = lower_bound();
    const auto enough = [&](Cost cost) { return relative_gap(cost, std::min(known, cost)) <= options.gap; };
    if (const Known* best = start()) {
      options.start = best->steps;
      // The plan is known to be good enough: it is only replayed.
      if (best->peak <= options.budget && enough(best->cost)) {
        options.method = "auto";
        options.gap = 1;
      }
    }
    options.on_progress = [&](const Progress& progress) {
      if (options_.on_progress) options_.on_progress(progress);
      if (progress.cost && enough(*progress.cost)) progress.stop();
    };
    CHECKMATE_TRY(SolveResult result, checkmate::solve(graph_, options, std::move(stop)));
    learn(result);
    return improved(std::move(result));
  });
}

}  // namespace checkmate
