#include "solve/paper/milp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkmate/validate.h"
#include "lp/linear_program.h"
#include "lp/safe_bound.h"
#include "solve/baselines/baselines.h"
#include "solve/common/linear_options.h"
#include "solve/common/prune_recomputations.h"
#include "solve/paper/lp_round.h"
#include "solve/paper/stage_model.h"

namespace checkmate {
namespace {

/// Whether the steps hold the order and the budget, in whole bytes: HiGHS's tolerances do not count.
bool fits(const SearchContext& search, const std::vector<OpId>& steps, Order order) {
  const Result<Plan> plan = plan_from_steps(search.graph, steps);
  return plan && validate(search.graph, *plan, search.options.budget, order).empty();
}

Cost cost_of(const Graph& graph, const std::vector<OpId>& steps) {
  Cost sum;
  for (const OpId op : steps) sum += graph.cost(op);
  return sum;
}

Outcome explain(const LinearSolution& solution) {
  switch (solution.status) {
    case LinearSolution::Status::kInfeasible:
      return {.detail =
                  "no plan of the paper's class (each op at most once per stage, in index order) fits the "
                  "budget"};
    case LinearSolution::Status::kFailed:
      return {.detail = "HiGHS gave up for numerical reasons"};
    default:
      return {.detail = "stopped before the first plan"};
  }
}

/// The caller's plan or the cheapest baseline's; where no baseline fits, rounding's.
Outcome best_start(const SearchContext& search) {
  Outcome baseline = cheapest_baseline(search);
  if (baseline.steps) {
    baseline.steps = prune_recomputations(search, std::move(*baseline.steps));
  } else if (!search.stopped()) {
    baseline = solve_lp_round(search);
  }
  const std::vector<OpId>& given = search.options.start;
  if (given.empty() || !fits(search, given, search.options.order)) return baseline;
  if (baseline.steps && cost_of(search.graph, *baseline.steps) <= cost_of(search.graph, given))
    return baseline;
  return {.steps = given};
}

}  // namespace

Outcome solve_milp(const SearchContext& search) {
  const Partition partition = search.options.free_stages ? Partition::kFree : Partition::kFrontier;
  if (std::optional<std::string> refusal = stage_model_refusal(search.graph, partition))
    return {.detail = *refusal};
  const Outcome start = partition == Partition::kFrontier ? best_start(search) : Outcome{};
  Outcome outcome{.steps = start.steps, .first_plan_seconds = start.first_plan_seconds};
  // Building the model alone takes about a microsecond a column, and cannot be interrupted.
  const double building = 1e-6 * static_cast<double>(StageModel::column_estimate(search.graph, partition));
  if (search.stopped() || search.seconds_left() < building) {
    outcome.detail = "the time limit is too short for the paper's model of this graph";
    return outcome;
  }
  const StageModel model(search.graph, {.budget = search.options.budget, .partition = partition});
  LinearSolver solver(model.program());
  // The stages know no other order of first runs.
  const bool in_stages = start.steps && fits(search, *start.steps, Order::kFixed);
  const std::vector<double> columns = in_stages ? model.columns_of(*start.steps) : std::vector<double>{};
  LinearOptions options = linear_options(search);
  options.relative_gap = search.options.gap;
  options.start = columns;
  options.on_progress = [&](const LinearProgress& progress) {
    if (!search.options.on_progress) return;
    const bool found = progress.best < LinearProgram::kInfinity;
    search.options.on_progress(
        {.seconds = search.seconds(),
         .cost = found ? std::optional(Cost{std::llround(model.cost_of(progress.best))}) : std::nullopt,
         .bound = std::nullopt,
         .method = "milp",
         .stage_bound = safe_bound(search.graph, model.cost_of(progress.bound))});
  };
  const LinearSolution solution = solver.solve(options);

  if (!solution.values.empty()) {
    std::vector<OpId> steps = model.steps_of(solution.values);
    const bool better =
        !outcome.steps || cost_of(search.graph, steps) < cost_of(search.graph, *outcome.steps);
    if (better && fits(search, steps, search.options.order)) outcome.steps = std::move(steps);
  }
  if (!outcome.steps) outcome = explain(solution);
  if (search.options.order == Order::kFixed)
    outcome.stage_lower_bound = safe_bound(search.graph, model.cost_of(solution.bound));
  return outcome;
}

Outcome solve_lp_bound(const SearchContext& search) {
  const Partition partition = search.options.free_stages ? Partition::kFree : Partition::kFrontier;
  if (std::optional<std::string> refusal = stage_model_refusal(search.graph, partition))
    return {.detail = *refusal};
  const StageModel model(search.graph, {.budget = search.options.budget, .partition = partition});
  LinearSolver solver(model.program());
  LinearOptions options = linear_options(search);
  options.relax = true;
  const LinearSolution solution = solver.solve(options);
  Outcome outcome{.detail = "this method only computes a lower bound, not a plan"};
  if (solution.status == LinearSolution::Status::kInfeasible) outcome.detail = explain(solution).detail;
  if (solution.status == LinearSolution::Status::kStopped)
    outcome.detail = "stopped before the relaxation was solved";
  if (search.options.order == Order::kFixed)
    outcome.stage_lower_bound = safe_bound(search.graph, model.cost_of(solution.bound));
  return outcome;
}

}  // namespace checkmate
