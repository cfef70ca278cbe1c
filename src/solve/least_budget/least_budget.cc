#include "solve/least_budget/least_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkmate/bound.h"
#include "checkmate/simulate.h"
#include "checkmate/validate.h"
#include "solve/least_budget/set_bounds.h"
#include "solve/least_budget/set_search.h"
#include "solve/least_budget/value_sets.h"
#include "text.h"

namespace checkmate {
namespace {

/// Without the fixed bytes until answer().
class Bracket {
 public:
  Bracket(const Search& search, std::size_t most_states, std::optional<Bytes> enough)
      : search_(search),
        graph_(search.graph),
        most_states_(most_states),
        structural_(structural_minimum(graph_)),
        lower_(structural_.bytes.count()),
        sets_(graph_),
        bounds_(search, sets_, lower_, kEntriesAState * most_states) {
    if (enough) enough_ = (*enough - graph_.fixed_bytes()).count();
  }

  LeastBudget run() {
    raise_by_subsets();
    if (bounds_.widen(lower_)) raise_by_subsets();
    // Mostly that is the answer already, and the way to it straight.
    if (settled() || fits(floor(), most_states_ / kShare)) return answer();
    if (bounds_.widen(lower_)) raise_by_subsets();
    if (settled() || search_all()) return answer();
    if (sets_.all_recomputable()) look_higher();
    return answer();
  }

 private:
  static constexpr std::size_t kEntriesAState = 16;  // of the bounds' tables
  static constexpr std::size_t kShare = 8;  // of the states, for a search that is not the last resort

  std::int64_t floor() const { return std::max(lower_, enough_.value_or(lower_)); }
  bool settled() const {
    return (enough_ && lower_ > *enough_) || (upper_ && *upper_ <= floor()) || search_.stopped();
  }

  void raise_by_subsets() {
    for (const std::vector<Value>& target : sets_.targets()) lower_ = std::max(lower_, bounds_(target));
  }

  /// Whether every target was found to need no more than `peak`.
  bool fits(std::int64_t peak, std::size_t states) { return search_targets(peak, peak, states); }
  bool search_all() { return search_targets(floor(), enough_.value_or(INT64_MAX), most_states_); }

  bool search_targets(std::int64_t floor, std::int64_t ceiling, std::size_t states) {
    SetSearch ways(search_, sets_, bounds_, states);
    std::int64_t peak = 0;
    std::vector<OpId> steps;
    for (const std::vector<Value>& target : sets_.targets()) {
      const SetSearch::Answer way = ways.run(target, std::max(floor, lower_), std::max(ceiling, lower_));
      lower_ = std::max(lower_, way.proven);
      if (!way.reached) return false;
      peak = std::max(peak, way.peak);
      steps.insert(steps.end(), way.steps.begin(), way.steps.end());
    }
    if (sets_.all_recomputable()) upper_ = peak;
    take(std::move(steps));
    return true;
  }

  /// Target after target is a plan where its first runs happen to keep the order and nothing runs twice that
  /// must not.
  void take(std::vector<OpId> steps) {
    const Result<Plan> plan = plan_from_steps(graph_, std::move(steps));
    const Result<Simulation> run = plan ? simulate(graph_, *plan) : plan.error();
    if (!run || !validate(graph_, *plan, run->peak, search_.options.order).empty()) return;
    steps_ = plan->steps;
    upper_ = (run->peak - graph_.fixed_bytes()).count();
  }

  /// Where the search for the least memory was too long, ways with a little more, and then more and more.
  void look_higher() {
    std::int64_t failed = lower_;
    std::int64_t step = std::max<std::int64_t>(lower_ / 64, 1);
    while (!search_.stopped()) {
      const std::int64_t peak = upper_ ? failed + (*upper_ - failed) / 2 : failed + step;
      if (upper_ && *upper_ - failed <= lower_ / 128) return;
      if (!fits(peak, most_states_ / kShare)) {
        failed = std::max(peak, lower_);
        step *= 2;
        if (step > 64 * lower_) return;
      }
    }
  }

  LeastBudget answer() {
    LeastBudget least{.lower = graph_.fixed_bytes() + Bytes{lower_}};
    if (upper_) least.upper = graph_.fixed_bytes() + Bytes{*upper_};
    least.exact = least.upper == least.lower;
    least.steps = std::move(steps_);
    if (lower_ == structural_.bytes.count()) {
      least.detail =
          fmt::format("op {} {} alone needs {} bytes with its inputs, outputs and workspace",
                      structural_.op.value, in_quotes(graph_.name(structural_.op)), least.lower.count());
    } else {
      least.detail =
          fmt::format("values that have to be in memory at once need {} bytes", least.lower.count());
    }
    return least;
  }

  const Search& search_;
  const Graph& graph_;
  std::size_t most_states_;
  StructuralMinimum structural_;
  std::int64_t lower_;
  ValueSets sets_;
  SetBounds bounds_;
  std::optional<std::int64_t> enough_, upper_;
  std::optional<std::vector<OpId>> steps_;
};

}  // namespace

LeastBudget least_budget(const Search& search, std::size_t most_states, std::optional<Bytes> enough) {
  return Bracket(search, most_states, enough).run();
}

}  // namespace checkmate
