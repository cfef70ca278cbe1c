#include "checkmate/solve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "checkmate/budget.h"
#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/validate.h"
#include "core/guarded.h"
#include "core/text.h"
#include "core/try.h"
#include "solve/api/check_options.h"
#include "solve/api/least_budget.h"
#include "solve/api/solvers.h"

namespace checkmate {
namespace {

constexpr std::array<std::string_view, 4> kStatusNames = {"optimal", "feasible", "infeasible", "unknown"};

struct ReasonText {
  std::string_view name, sentence;
};
constexpr std::array kReasons = std::to_array<ReasonText>({
    {"gap_closed", "the gap asked for is closed"},
    {"infeasible", "it is proven that no plan fits"},
    {"cancelled", "it was cancelled"},
    {"time_limit", "the time limit"},
    {"moves_limit", "the limit of moves"},
    {"exhausted", "the method had nothing left to try"},
    {"patience", "the plan had not become much cheaper for as long as patience allows"},
});

Result<const Solver*> find_solver(std::string_view method) {
  std::vector<std::string_view> known;
  for (const Solver& solver : solvers()) {
    if (solver.info.name == method) return &solver;
    known.push_back(solver.info.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown method {}; known are {}", in_quotes(method), fmt::join(known, ", "))};
}

/// Runs the plan anew, knowing nothing of how it was found. A plan or bound that does not hold is our own
/// bug.
void replay(const Graph& graph, const SolveOptions& options, std::vector<OpId> steps, SolveResult& result) {
  const auto require = [&](bool holds, const auto& complaint) {
    if (!holds) throw std::logic_error(fmt::format("{} is wrong: {}", result.method, complaint()));
  };
  Result<Plan> plan = plan_from_steps(graph, std::move(steps));
  require(plan.has_value(), [&] { return plan.error().message; });
  const Result<Simulation> simulation = simulate(graph, *plan);
  require(simulation.has_value(), [&] { return simulation.error().message; });
  const std::vector<Violation> violations = validate(graph, *plan, options.budget, options.order);
  require(violations.empty(), [&] { return describe(graph, violations.front()); });
  require(result.lower_bound <= simulation->cost, [] { return "its bound is above its plan's cost"; });

  result.cost = simulation->cost;
  result.peak = simulation->peak;
  result.plan = std::move(*plan);
  result.status = *result.cost == result.lower_bound ? Status::kOptimal : Status::kFeasible;
}

/// A plan over the budget that says which budget is enough.
void take_sufficient(const Graph& graph, std::vector<OpId> steps, SolveResult& result) {
  result.sufficient_plan = plan_from_steps(graph, std::move(steps)).value();
  result.sufficient = simulate(graph, *result.sufficient_plan).value().peak;
}

StopReason stop_reason(const SearchContext& search, const Outcome& outcome, const SolveResult& result) {
  if (result.status == Status::kInfeasible) return StopReason::kInfeasible;
  if (result.cost && relative_gap(*result.cost, result.lower_bound) <= search.options.gap)
    return StopReason::kGapClosed;
  if (search.stop_token().stop_requested()) return StopReason::kCancelled;
  if (outcome.stop_reason) return *outcome.stop_reason;
  if (search.stopped()) return StopReason::kTimeLimit;
  return search.by_moves() && outcome.moves > 0 ? StopReason::kMovesLimit : StopReason::kExhausted;
}

/// Where there is no plan: what every plan needs and what suffices, as far as a short search can tell.
void bracket_least_budget(const SearchContext& search, SolveResult& result) {
  constexpr double kSeconds = 4;
  constexpr double kGap = 1e-3;
  const double share = std::min(0.4, kSeconds / std::max(search.seconds_left(), kSeconds));
  const SearchContext here = search.part(share);
  PeakBoard board(here, {.gap = kGap});
  if (result.sufficient_plan) board.offer(result.sufficient_plan->steps, "start");
  if (result.needed) board.raise(*result.needed, result.detail);
  if (!board.done()) search_least_budget(here, board);
  result.needed = board.needed();
  take_sufficient(search.graph, board.steps(), result);
}

void answer_infeasible(const SearchContext& search, const StructuralMinimum& minimum, SolveResult& result) {
  const Bytes by_itself = search.graph.fixed_bytes() + minimum.bytes;
  result.status = Status::kInfeasible;
  result.stop_reason = StopReason::kInfeasible;
  result.needed = by_itself;
  result.detail = describe(search.graph, minimum);
  bracket_least_budget(search, result);
  if (*result.needed > by_itself) {
    result.detail +=
        fmt::format("; everything that must be in memory at once needs {}", exact(*result.needed));
  }
}

void run(const SearchContext& search, const Solver& solver, SolveResult& result) {
  Outcome outcome = solver.run(search);
  result.first_plan_seconds = outcome.first_plan_seconds.value_or(search.seconds());
  result.detail = std::move(outcome.detail);
  if (!outcome.method.empty()) result.method = outcome.method;
  if (outcome.lower_bound) result.lower_bound = std::max(result.lower_bound, *outcome.lower_bound);
  result.moves = outcome.moves;
  if (outcome.steps) {
    replay(search.graph, search.options, std::move(*outcome.steps), result);
    // A plan of the class costs no less than the bound: what a float says beyond it is tolerance.
    if (outcome.stage_lower_bound)
      outcome.stage_lower_bound = std::min(*outcome.stage_lower_bound, *result.cost);
  } else {
    result.needed = outcome.needed;
    result.sufficient = outcome.sufficient;
    if (outcome.sufficient_steps) take_sufficient(search.graph, std::move(*outcome.sufficient_steps), result);
    if (result.needed > search.options.budget) result.status = Status::kInfeasible;
    if (result.status == Status::kInfeasible) bracket_least_budget(search, result);
  }
  result.stage_lower_bound = outcome.stage_lower_bound;
  result.stop_reason = stop_reason(search, outcome, result);
  search.report_last(
      [&] { return result.plan ? result.plan->steps : std::vector<OpId>(); },
      {search.seconds(), result.cost, result.lower_bound, result.method, result.stage_lower_bound});
}

}  // namespace

std::string_view to_string(Status status) { return kStatusNames.at(static_cast<std::size_t>(status)); }

std::string_view to_string(StopReason reason) { return kReasons.at(static_cast<std::size_t>(reason)).name; }

std::string_view describe(StopReason reason) {
  return kReasons.at(static_cast<std::size_t>(reason)).sentence;
}

double overhead(const Graph& graph, Cost cost) {
  const auto base = static_cast<double>(graph.keep_all_cost().count());
  return base == 0 ? 1 : static_cast<double>(cost.count()) / base;
}

double relative_gap(Cost cost, Cost lower_bound) {
  return cost == lower_bound
             ? 0
             : static_cast<double>((cost - lower_bound).count()) / static_cast<double>(cost.count());
}

std::optional<Plan> Progress::plan() const {
  std::vector<OpId> steps = source == nullptr ? std::vector<OpId>() : source->steps();
  if (steps.empty()) return std::nullopt;
  Result<Plan> plan = plan_from_steps(source->graph, std::move(steps));
  return plan ? std::optional(std::move(*plan)) : std::nullopt;
}

void Progress::stop() const {
  if (source != nullptr) std::stop_source(source->stop).request_stop();
}

Result<SolveResult> solve(const Graph& graph, const SolveOptions& options, std::stop_token stop) {
  return guarded([&]() -> Result<SolveResult> {
    CHECKMATE_TRY(check_options(graph, options));
    CHECKMATE_TRY(const Solver* const solver, find_solver(options.method));
    std::stop_source cancel;
    const std::stop_callback on_stop(stop, [&] { cancel.request_stop(); });
    const SearchContext search(graph, options, cancel.get_token(), cancel);
    SolveResult result;
    result.method = options.method;
    result.lower_bound = graph.keep_all_cost();
    const StructuralMinimum minimum = structural_minimum(graph);
    if (graph.fixed_bytes() + minimum.bytes > options.budget) {
      answer_infeasible(search, minimum, result);
    } else {
      run(search, *solver, result);
    }
    result.seconds = search.seconds();
    return result;
  });
}

}  // namespace checkmate
