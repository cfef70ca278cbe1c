#include "measure.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

namespace checkmate::bench {
namespace {

/// The mark of the most memory so far falls back to what is held now. Where the system refuses, the mark of
/// earlier runs stays, which is why the instances of a set come by rising size.
void forget_peak_memory() {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

Bytes peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Bytes{usage.ru_maxrss} * 1024;
}

/// Drops reports of a bound that the answer does not have: those are bounds of the paper's class alone.
std::vector<TracePoint> best_so_far(const Graph& graph, const std::vector<Progress>& reports,
                                    const SolveResult& result) {
  std::vector<TracePoint> trace;
  std::optional<Cost> cost;
  Cost bound = graph.keep_all_cost();
  for (const Progress& report : reports) {
    if (report.cost) cost = std::min(cost.value_or(*report.cost), *report.cost);
    if (report.bound && *report.bound <= result.lower_bound) bound = std::max(bound, *report.bound);
    trace.push_back({report.seconds, cost, bound});
  }
  trace.push_back({result.seconds, result.cost, result.lower_bound});
  return trace;
}

Result<void> check(const Problem& problem, const SolveResult& result) {
  const auto wrong = [](std::string why) { return Error{ErrorCode::kInvalidPlan, std::move(why)}; };
  const std::vector<Violation> violations =
      validate(problem.graph, *result.plan, problem.budget, problem.instance.order);
  if (!violations.empty()) return wrong(describe(problem.graph, violations.front()));
  const Result<Simulation> run = simulate(problem.graph, *result.plan);
  if (!run) return run.error();
  if (run->cost != result.cost || run->peak != result.peak)
    return wrong("the plan's cost or peak is not what the answer says");
  if (result.lower_bound > run->cost) return wrong("the bound is above the plan's cost");
  return {};
}

template <class Reached>
std::optional<double> first_seconds(const Run& run, const Reached& reached) {
  const auto found = std::find_if(run.trace.begin(), run.trace.end(), reached);
  return found == run.trace.end() ? std::nullopt : std::optional(found->seconds);
}

}  // namespace

Result<Run> measure(const Problem& problem, const How& how) {
  std::vector<Progress> reports;
  SolveOptions options{.budget = problem.budget,
                       .method = how.method,
                       .order = problem.instance.order,
                       .time_limit = how.time_limit,
                       .threads = how.threads,
                       .seed = how.seed};
  options.on_progress = [&](const Progress& report) { reports.push_back(report); };
  forget_peak_memory();
  Result<SolveResult> result = solve(problem.graph, options);
  if (!result) return result.error();
  const Bytes memory = peak_memory();
  if (result->plan) {
    if (const Result<void> holds = check(problem, *result); !holds) {
      return holds.error().at(fmt::format("{} {} by {}, seed {}", problem.instance.name,
                                          problem.instance.budget, how.method, how.seed));
    }
  }
  Run run{how, std::move(*result), {}, memory};
  run.trace = best_so_far(problem.graph, reports, run.result);
  if (run.result.plan) run.result.plan.emplace();  // checked; thousands of them would fill the memory
  return run;
}

std::optional<double> seconds_to_cost(const Run& run, Cost cost) {
  return first_seconds(run, [&](const TracePoint& point) { return point.cost && *point.cost <= cost; });
}

std::optional<double> seconds_to_gap(const Run& run, double gap) {
  return first_seconds(run, [&](const TracePoint& point) {
    return point.cost && relative_gap(*point.cost, point.bound) <= gap;
  });
}

}  // namespace checkmate::bench
