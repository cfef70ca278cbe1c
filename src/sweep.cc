#include "checkmate/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkmate/budget.h"
#include "decimal.h"
#include "text.h"

namespace checkmate {
namespace {

Error wrong_range(std::string_view text) {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("{} is no range of budgets; write for example 90%..20% or 90%..20%:5%", in_quotes(text))};
}

/// Whole percent, 1 to 100.
std::optional<std::int64_t> parse_percent(std::string_view text) {
  const Decimal number = Decimal::read_prefix(text);
  if (number.length == 0 || text.substr(number.length) != "%" || number.fractional() || number.too_large)
    return std::nullopt;
  const std::int64_t percent = number.digits / number.scale;
  return percent >= 1 && percent <= 100 ? std::optional(percent) : std::nullopt;
}

Result<std::vector<Bytes>> parse_range(const Graph& graph, std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = text.find(':', dots);
  const std::optional<std::int64_t> first = parse_percent(text.substr(0, dots));
  const std::optional<std::int64_t> last =
      parse_percent(text.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2));
  const std::optional<std::int64_t> step =
      colon == std::string_view::npos ? 10 : parse_percent(text.substr(colon + 1));
  if (!first || !last || !step) return wrong_range(text);
  std::vector<Bytes> budgets;
  for (std::int64_t percent = std::min(*first, *last); percent <= std::max(*first, *last); percent += *step) {
    const Result<Bytes> budget = parse_budget(graph, fmt::format("{}%", percent));
    if (!budget) return budget.error();
    budgets.push_back(*budget);
  }
  return budgets;
}

/// Takes over the plan of a smaller budget where it is cheaper than what the method found.
void improve(SolveResult& result, const SolveResult& smaller) {
  if (!smaller.plan || (result.plan && result.cost <= smaller.cost)) return;
  result.plan = smaller.plan;
  result.cost = smaller.cost;
  result.peak = smaller.peak;
  result.least_peak.reset();
  result.detail = "the plan of a smaller budget";
  result.status = result.cost == result.lower_bound ? Status::kOptimal : Status::kFeasible;
}

}  // namespace

Result<std::vector<Bytes>> parse_budgets(const Graph& graph, std::string_view text) {
  std::vector<Bytes> budgets;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    if (part.find("..") != std::string_view::npos) {
      Result<std::vector<Bytes>> range = parse_range(graph, part);
      if (!range) return range.error();
      budgets.insert(budgets.end(), range->begin(), range->end());
    } else {
      const Result<Bytes> budget = parse_budget(graph, part);
      if (!budget) return budget.error();
      budgets.push_back(*budget);
    }
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
  }
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

Result<std::vector<SweepPoint>> sweep(const Graph& graph, const SweepOptions& options,
                                      const std::stop_token& stop) {
  std::vector<Bytes> budgets = options.budgets;
  std::sort(budgets.begin(), budgets.end());
  std::vector<SweepPoint> points;
  for (const std::string& method : options.methods) {
    const SolveResult* smaller = nullptr;
    points.reserve(options.methods.size() * budgets.size());  // so that `smaller` stays where it is
    for (const Bytes budget : budgets) {
      if (stop.stop_requested()) return points;
      SolveOptions solve_options = options.solve;
      solve_options.budget = budget;
      solve_options.method = method;
      if (smaller != nullptr && smaller->plan) solve_options.start = smaller->plan->steps;
      Result<SolveResult> result = solve(graph, solve_options, stop);
      if (!result) return result.error();
      if (smaller != nullptr) improve(*result, *smaller);
      points.push_back({budget, method, std::move(*result)});
      smaller = &points.back().result;
      if (options.on_point) options.on_point(points.back());
    }
  }
  return points;
}

}  // namespace checkmate
