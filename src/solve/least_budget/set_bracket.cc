#include "solve/least_budget/set_bracket.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/validate.h"
#include "core/text.h"
#include "solve/least_budget/set_bounds.h"
#include "solve/least_budget/set_search.h"
#include "solve/least_budget/value_sets.h"

namespace checkmate {
namespace {

/// Those of the runs that make what is needed after them.
std::vector<OpId> runs_for(const Graph& graph, std::span<const OpId> runs, std::vector<bool> needed) {
  std::vector<OpId> useful;
  for (std::size_t run = runs.size(); run-- > 0;) {
    const auto outputs = graph.outputs(runs[run]);
    if (std::none_of(outputs.begin(), outputs.end(), [&](TensorId t) { return needed[t.index()]; })) continue;
    useful.push_back(runs[run]);
    for (const TensorId tensor : outputs) needed[tensor.index()] = false;
    for (const TensorId tensor : graph.inputs(runs[run])) needed[tensor.index()] = true;
  }
  std::reverse(useful.begin(), useful.end());
  return useful;
}

/// Runs that make all targets from nothing, one after the other, as a plan of the graph's order that needs no
/// more memory: op by op, each made from nothing as it is made there, and the outputs at the end. Ops that an
/// op is made from come before it, so they have run. Nothing where that would be long.
std::optional<std::vector<OpId>> in_order(const Graph& graph, const std::vector<OpId>& runs) {
  constexpr std::size_t kMostWork = std::size_t{1} << 22;
  if (graph.op_count() * (runs.size() + graph.tensor_count()) > kMostWork) return std::nullopt;
  std::vector<OpId> steps;
  const auto make = [&](std::span<const OpId> from, std::vector<bool> needed) {
    const std::vector<OpId> useful = runs_for(graph, from, std::move(needed));
    steps.insert(steps.end(), useful.begin(), useful.end());
  };
  std::vector<bool> needed(graph.tensor_count());
  for (const OpId op : graph.ops()) {
    const auto first = std::find(runs.begin(), runs.end(), op);
    std::fill(needed.begin(), needed.end(), false);
    for (const TensorId tensor : graph.inputs(op)) needed[tensor.index()] = true;
    make({runs.begin(), first}, needed);
    steps.push_back(op);
  }
  for (const TensorId tensor : graph.tensors()) needed[tensor.index()] = graph.output(tensor);
  make(runs, needed);
  return steps;
}

/// Without the fixed bytes until answer().
class Bracket {
 public:
  Bracket(const SearchContext& search, std::size_t most_states, std::optional<Bytes> enough)
      : search_(search),
        graph_(search.graph),
        most_states_(most_states),
        structural_(structural_minimum(graph_)),
        lower_(structural_.bytes.count()),
        sets_(graph_),
        bounds_(search, sets_, lower_, kEntriesPerState * most_states) {
    if (enough) enough_ = (*enough - graph_.fixed_bytes()).count();
  }

  SetBracket run() {
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
  static constexpr std::size_t kEntriesPerState = 16;  // of the bounds' tables
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
    take(steps);
    if (!steps_ && sets_.all_recomputable()) {
      if (std::optional<std::vector<OpId>> ordered = in_order(graph_, steps)) take(std::move(*ordered));
    }
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

  SetBracket answer() {
    SetBracket least{.needed = graph_.fixed_bytes() + Bytes{lower_}};
    if (upper_) least.sufficient = graph_.fixed_bytes() + Bytes{*upper_};
    least.exact = least.sufficient == least.needed;
    least.steps = std::move(steps_);
    if (lower_ == structural_.bytes.count()) {
      least.detail = describe(graph_, structural_);
    } else {
      least.detail = fmt::format("values that must be in memory at once need {}", exact(least.needed));
    }
    return least;
  }

  const SearchContext& search_;
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

SetBracket bracket_by_sets(const SearchContext& search, std::size_t most_states,
                           std::optional<Bytes> enough) {
  return Bracket(search, most_states, enough).run();
}

}  // namespace checkmate
