#include "solve/least_peak/peak_board.h"

#include <utility>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "solve/common/incumbent.h"

namespace checkmate {

PeakBoard::PeakBoard(const SearchContext& search, Goal goal)
    : search_(search), goal_(goal), steps_(keep_all_plan(search.graph).steps) {
  const StructuralMinimum minimum = structural_minimum(search.graph);
  needed_ = search.graph.fixed_bytes() + minimum.bytes;
  detail_ = describe(search.graph, minimum);
  peak_ = search.graph.fixed_bytes() + keep_all_peak(search.graph);
  cost_ = search.graph.keep_all_cost();
}

bool PeakBoard::offer(std::vector<OpId> steps, std::string_view source) {
  const Graph& graph = search_.graph;
  Result<Plan> plan = plan_from_steps(graph, std::move(steps));
  const Result<Simulation> run = plan ? simulate(graph, *plan) : plan.error();
  if (!run || (search_.options.order == Order::kFixed && !keeps_order(plan->steps))) return false;
  const std::lock_guard lock(mutex_);
  if (std::pair(run->peak, run->cost) >= std::pair(peak_, cost_)) return false;
  steps_ = std::move(plan->steps);
  source_ = source;
  peak_ = run->peak;
  cost_ = run->cost;
  return true;
}

void PeakBoard::raise(Bytes needed, std::string detail) {
  const std::lock_guard lock(mutex_);
  if (needed <= needed_) return;
  needed_ = needed;
  detail_ = std::move(detail);
}

bool PeakBoard::reached() const {
  if (peak_ <= needed_ || (goal_.enough && (peak_ <= *goal_.enough || needed_ > *goal_.enough))) return true;
  return static_cast<double>((peak_ - needed_).count()) <= goal_.gap * static_cast<double>(peak_.count());
}

bool PeakBoard::done() const {
  if (search_.stopped()) return true;
  const std::lock_guard lock(mutex_);
  return reached();
}

Bytes PeakBoard::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

Bytes PeakBoard::needed() const {
  const std::lock_guard lock(mutex_);
  return needed_;
}

Cost PeakBoard::cost() const {
  const std::lock_guard lock(mutex_);
  return cost_;
}

std::vector<OpId> PeakBoard::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::string_view PeakBoard::source() const {
  const std::lock_guard lock(mutex_);
  return source_;
}

std::string PeakBoard::detail() const {
  const std::lock_guard lock(mutex_);
  return detail_;
}

}  // namespace checkmate
