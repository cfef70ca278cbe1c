#include "checkmate/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/take_over.h"
#include "checkmate/simulate.h"
#include "core/csv.h"
#include "core/try.h"

namespace checkmate {
Result<std::vector<SweepPoint>> sweep(const Graph& graph, const SweepOptions& options,
                                      const std::stop_token& stop) {
  std::vector<Bytes> budgets = options.budgets;
  std::sort(budgets.begin(), budgets.end());
  std::vector<SweepPoint> points;
  const auto finished = [&] {
    share_bounds(points);
    return std::move(points);
  };
  for (const std::string& method : options.methods) {
    const SolveResult* smaller = nullptr;
    points.reserve(options.methods.size() * budgets.size());  // so that `smaller` stays where it is
    for (const Bytes budget : budgets) {
      if (stop.stop_requested()) return finished();
      SolveOptions solve_options = options.solve;
      solve_options.budget = budget;
      solve_options.method = method;
      if (smaller != nullptr && smaller->plan) solve_options.start = smaller->plan->steps;
      CHECKMATE_TRY(SolveResult result, solve(graph, solve_options, stop));
      if (smaller != nullptr) take_over(result, *smaller, "the plan of a smaller budget");
      points.push_back({budget, method, std::move(result)});
      smaller = &points.back().result;
      if (options.on_point) options.on_point(points.back());
    }
  }
  return finished();
}

void share_bounds(std::vector<SweepPoint>& points) {
  for (SweepPoint& point : points) {
    SolveResult& result = point.result;
    for (const SweepPoint& other : points) {
      if (other.budget < point.budget) continue;
      result.lower_bound = std::max(result.lower_bound, other.result.lower_bound);
      if (result.stage_lower_bound && other.result.stage_lower_bound)
        result.stage_lower_bound = std::max(*result.stage_lower_bound, *other.result.stage_lower_bound);
    }
    if (result.stage_lower_bound)  // what holds for every plan holds for the paper's
      result.stage_lower_bound = std::max(*result.stage_lower_bound, result.lower_bound);
    if (result.plan && result.cost == result.lower_bound) result.status = Status::kOptimal;
  }
}

std::string sweep_to_csv(const Graph& graph, const std::vector<SweepPoint>& points) {
  std::string text = csv_line({"budget_bytes", "budget_share", "method", "status", "cost", "overhead",
                               "peak_bytes", "lower_bound", "stage_lower_bound", "seconds"});
  const auto peak = static_cast<double>(keep_all_peak(graph).count());
  for (const auto& [budget, method, r] : points) {
    const double share = peak == 0 ? 1 : static_cast<double>((budget - graph.fixed_bytes()).count()) / peak;
    const auto count = [](const auto& amount) { return amount ? std::to_string(amount->count()) : ""; };
    text += csv_line({std::to_string(budget.count()), fmt::format("{:.4f}", share), method,
                      std::string(to_string(r.status)), count(r.cost),
                      r.cost ? fmt::format("{}", overhead(graph, *r.cost)) : "", count(r.peak),
                      std::to_string(r.lower_bound.count()), count(r.stage_lower_bound),
                      fmt::format("{:.3f}", r.seconds)});
  }
  return text;
}

}  // namespace checkmate
