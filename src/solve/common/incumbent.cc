#include "solve/common/incumbent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkmate/simulate.h"

namespace checkmate {

bool keeps_order(std::span<const OpId> steps) {
  std::uint32_t ran = 0;
  for (const OpId op : steps) {
    if (op.value > ran) return false;
    if (op.value == ran) ++ran;
  }
  return true;
}

Incumbent::Incumbent(const SearchContext& search)
    : search_(search),
      bound_(search.graph.keep_all_cost().count()),
      stage_bound_(search.graph.keep_all_cost().count()) {}

bool Incumbent::offer(std::vector<OpId> steps, std::string_view source) {
  Result<Plan> plan = plan_from_steps(search_.graph, std::move(steps));
  if (!plan) return false;
  const Result<Simulation> run = simulate(search_.graph, *plan);
  if (!run || (search_.options.order == Order::kFixed && !keeps_order(plan->steps))) return false;
  {
    const std::lock_guard lock(mutex_);
    if (run->peak > search_.options.budget) {
      note_peak_of(run->peak, plan->steps);
      if (run->cost < cost()) hint_ = std::move(plan->steps);
      return false;
    }
    if (run->cost >= cost()) return false;
    if (!first_plan_seconds_) first_plan_seconds_ = search_.seconds();
    steps_ = std::move(plan->steps);
    source_ = source;
    constexpr std::int64_t kMuch = 1000;  // one part of keep-all's cost in so many
    if (landmark_ == kNone || landmark_ - run->cost >= Cost{search_.graph.keep_all_cost().count() / kMuch}) {
      landmark_ = run->cost;
      landmark_seconds_ = search_.seconds();  // before the plan can be seen
    }
    cost_ = run->cost.count();
    ++version_;
  }
  tell(source);
  return true;
}

void Incumbent::raise_bound(Cost bound, std::string_view source) {
  {
    const std::lock_guard lock(mutex_);
    if (bound <= this->bound()) return;
    bound_ = bound.count();
    stage_bound_ = std::max(stage_bound_.load(), bound.count());
  }
  tell(source);
}

void Incumbent::raise_stage_bound(Cost bound, std::string_view source) {
  {
    const std::lock_guard lock(mutex_);
    if (stage_proven_ && bound <= stage_bound()) return;
    stage_proven_ = true;
    stage_bound_ = std::max(stage_bound_.load(), bound.count());
  }
  tell(source);
}

void Incumbent::prove_infeasible(Bytes least, std::string detail) {
  const std::lock_guard lock(mutex_);
  if (!needed_ || least > *needed_) needed_ = least;
  detail_ = std::move(detail);
  enough_.request_stop();
}

void Incumbent::note_peak(Bytes peak) {
  const std::lock_guard lock(mutex_);
  if (!sufficient_ || peak < *sufficient_) note_peak_of(peak, {});
}

void Incumbent::note_peak_of(std::vector<OpId> steps) {
  const Result<Plan> plan = plan_from_steps(search_.graph, std::move(steps));
  const Result<Simulation> run = plan ? simulate(search_.graph, *plan) : plan.error();
  if (!run) return;
  const std::lock_guard lock(mutex_);
  note_peak_of(run->peak, plan->steps);
}

void Incumbent::note_peak_of(Bytes peak, std::vector<OpId> steps) {
  if (sufficient_ && peak > *sufficient_) return;
  if (sufficient_ && peak == *sufficient_ && !sufficient_steps_.empty()) return;
  sufficient_ = peak;
  sufficient_steps_ = std::move(steps);
}

void Incumbent::raise_needed(Bytes needed) {
  const std::lock_guard lock(mutex_);
  if (!needed_ || needed > *needed_) needed_ = needed;
}

void Incumbent::note_failure(std::string_view source, const Error& error) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = fmt::format("without {}: {}", source, error.message);
}

double Incumbent::gap() const { return has_plan() ? relative_gap(cost(), std::min(bound(), cost())) : 1; }

double Incumbent::stage_gap() const {
  return has_plan() ? relative_gap(cost(), std::min(stage_bound(), cost())) : 1;
}

std::vector<OpId> Incumbent::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::optional<std::vector<OpId>> Incumbent::take_hint() {
  const std::lock_guard lock(mutex_);
  return std::exchange(hint_, std::nullopt);
}

bool Incumbent::done() const {
  if (out_of_patience()) enough_.request_stop();
  return enough_.stop_requested() || search_.stopped();
}

bool Incumbent::out_of_patience() const {
  const double patience = search_.options.patience;
  if (patience == 0 || search_.by_moves() || !has_plan() || enough_.stop_requested()) return impatient_;
  if (search_.seconds() - landmark_seconds_ > patience) impatient_ = true;
  return impatient_;
}

Outcome Incumbent::outcome() const {
  const std::lock_guard lock(mutex_);
  Outcome outcome;
  outcome.lower_bound = bound();
  if (stage_proven_) outcome.stage_lower_bound = stage_bound();
  outcome.moves = moves_;
  outcome.detail = detail_;
  if (impatient_) outcome.stop_reason = StopReason::kPatience;
  if (has_plan()) {
    outcome.steps = steps_;
    outcome.method = source_;
    outcome.first_plan_seconds = first_plan_seconds_;
  } else {
    outcome.sufficient = sufficient_;
    if (!sufficient_steps_.empty()) outcome.sufficient_steps = sufficient_steps_;
    outcome.needed = needed_;
    if (outcome.detail.empty()) outcome.detail = "no plan within the budget was found";
  }
  if (!failure_.empty()) outcome.detail += (outcome.detail.empty() ? "" : "; ") + failure_;
  return outcome;
}

void Incumbent::take_over(const Incumbent& other) {
  Outcome found = other.outcome();
  {
    const std::scoped_lock lock(mutex_, other.mutex_);
    if (failure_.empty()) failure_ = other.failure_;
  }
  if (found.steps) offer(std::move(*found.steps), found.method);
  if (found.needed && *found.needed > search_.options.budget) prove_infeasible(*found.needed, other.detail_);
  if (found.needed) raise_needed(*found.needed);
  if (found.sufficient_steps) note_peak_of(std::move(*found.sufficient_steps));
  if (found.sufficient) note_peak(*found.sufficient);
  if (found.stage_lower_bound) raise_stage_bound(*found.stage_lower_bound, found.method);
  raise_bound(*found.lower_bound, found.method);
}

void Incumbent::tell(std::string_view source) {
  if (has_plan() && gap() <= search_.options.gap) enough_.request_stop();
  search_.report([this] { return steps(); },
                 [&] {
                   Progress progress{search_.seconds(), std::nullopt, bound(), source};
                   if (has_plan()) progress.cost = cost();
                   if (stage_proven_) progress.stage_bound = stage_bound();
                   return progress;
                 });
}

}  // namespace checkmate
