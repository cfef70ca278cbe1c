#include "solve/paper/milp.h"

#include "core/guarded.h"
#include "lp/linear_program.h"
#include "lp/safe_bound.h"
#include "solve/baselines/baselines.h"
#include "solve/common/child_process.h"
#include "solve/common/linear_options.h"
#include "solve/common/prune_recomputations.h"
#include "solve/paper/lp_round.h"
#include "solve/paper/stage_model.h"

namespace checkmate {
namespace {

constexpr std::string_view kName = "milp";

std::string explain(const LinearSolution& solution) {
  switch (solution.status) {
    case LinearSolution::Status::kInfeasible:
      return "no plan of the paper's class (each op at most once per stage, in index order) fits the budget";
    case LinearSolution::Status::kFailed:
      return "HiGHS gave up for numerical reasons";
    default:
      return "stopped before the first plan";
  }
}

/// Offers the caller's plan and the cheapest baseline's; where no baseline fits, rounding's.
void offer_starts(const SearchContext& search, Incumbent& incumbent) {
  if (!search.options.start.empty()) incumbent.offer(search.options.start, kName);
  Outcome baseline = cheapest_baseline(search);
  if (baseline.steps) {
    baseline.steps = prune_recomputations(search, std::move(*baseline.steps));
  } else if (!search.stopped()) {
    baseline = solve_lp_round(search);
  }
  if (baseline.steps) incumbent.offer(std::move(*baseline.steps), kName);
  if (baseline.sufficient) incumbent.note_peak(*baseline.sufficient);
}

/// The plan in the model's columns; nothing without one that the stages know: first runs in index order.
std::vector<double> start_of(const StageModel& model, const Incumbent& incumbent) {
  const std::vector<OpId> steps = incumbent.steps();
  return !steps.empty() && keeps_order(steps) ? model.columns_of(steps) : std::vector<double>{};
}

Partition partition_of(const SearchContext& search) {
  return search.options.free_stages ? Partition::kFree : Partition::kFrontier;
}

/// HiGHS does not look up while it presolves, nor while it solves the first relaxation of a branch and bound:
/// a second for some 30,000 columns.
Outcome run_model(const SearchContext& search, Incumbent& incumbent, const Method& method) {
  constexpr std::size_t kDeaf = 5'000;
  const std::size_t columns = StageModel::column_estimate(search.graph, partition_of(search));
  return columns < kDeaf ? method(search, incumbent) : run_in_child(search, incumbent, method);
}

/// The plan, or why there is none.
Outcome search_model(const SearchContext& search, Incumbent& incumbent) {
  const Partition partition = partition_of(search);
  const StageModel model(search.graph, {.budget = search.options.budget, .partition = partition});
  LinearSolver solver(model.program());
  const std::vector<double> start = start_of(model, incumbent);
  const auto raise_bound = [&](double bound) {
    if (search.options.order != Order::kFixed) return;
    if (const std::optional<Cost> safe = safe_bound(search.graph, model.cost_of(bound)))
      incumbent.raise_stage_bound(*safe, kName);
  };
  LinearOptions options = linear_options(search);
  options.relative_gap = search.options.gap;
  options.start = start;
  options.on_progress = [&](const LinearProgress& progress) {
    if (!progress.values.empty()) incumbent.offer(model.steps_of(progress.values), kName);
    raise_bound(progress.bound);
  };
  const LinearSolution solution = solver.solve(options);
  if (!solution.values.empty()) incumbent.offer(model.steps_of(solution.values), kName);
  raise_bound(solution.bound);
  Outcome outcome = incumbent.outcome();
  if (!outcome.steps) outcome.detail = explain(solution);
  if (solution.status == LinearSolution::Status::kStopped) outcome.stop_reason = StopReason::kTimeLimit;
  return outcome;
}

Outcome relax_model(const SearchContext& search, Incumbent& /*incumbent*/) {
  const StageModel model(search.graph, {.budget = search.options.budget, .partition = partition_of(search)});
  LinearSolver solver(model.program());
  LinearOptions options = linear_options(search);
  options.relax = true;
  const LinearSolution solution = solver.solve(options);
  Outcome outcome{.detail = "this method only computes a lower bound, not a plan"};
  const bool failed = solution.status == LinearSolution::Status::kFailed;
  if (failed || solution.status == LinearSolution::Status::kInfeasible) outcome.detail = explain(solution);
  if (solution.status == LinearSolution::Status::kStopped) {
    outcome.detail = "stopped before the relaxation was solved";
    outcome.stop_reason = StopReason::kTimeLimit;
  }
  if (search.options.order == Order::kFixed)
    outcome.stage_lower_bound = safe_bound(search.graph, model.cost_of(solution.bound));
  return outcome;
}

}  // namespace

Outcome solve_milp(const SearchContext& search) {
  if (std::optional<std::string> refusal = stage_model_refusal(search.graph, partition_of(search)))
    return {.detail = *refusal};
  Incumbent incumbent(search);
  if (!search.options.free_stages) offer_starts(search, incumbent);
  if (incumbent.enough().stop_requested()) {
    if (search.options.order == Order::kFixed) incumbent.raise_stage_bound(incumbent.bound(), kName);
    return incumbent.outcome();
  }
  Outcome outcome;
  const Result<void> searched = guarded([&]() -> Result<void> {
    outcome = run_model(search, incumbent, search_model);
    return {};
  });
  if (!searched) {
    incumbent.note_failure("HiGHS", searched.error());
    outcome = incumbent.outcome();
  }
  return outcome;
}

Outcome solve_lp_bound(const SearchContext& search) {
  if (std::optional<std::string> refusal = stage_model_refusal(search.graph, partition_of(search)))
    return {.detail = *refusal};
  Incumbent incumbent(search);
  return run_model(search, incumbent, relax_model);
}

}  // namespace checkmate
