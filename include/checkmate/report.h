#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"
#include "checkmate/sweep.h"

#pragma GCC visibility push(default)
/// A plan to look at: docs/report.md.
namespace checkmate {

/// What a method found at a budget: one point of overhead against budget.
struct ReportPoint {
  Bytes budget;
  std::string method;
  Status status = Status::kUnknown;
  std::optional<Cost> cost = {};         ///< of its plan, if it has one
  std::optional<Cost> lower_bound = {};  ///< no plan of the report's order is cheaper at that budget
};
std::vector<ReportPoint> report_points(const std::vector<SweepPoint>& points);

struct ReportOptions {
  std::optional<Bytes> budget = {};      ///< that the plan was made for, the fixed bytes included
  Order order = Order::kFixed;           ///< what lower_bound and the points are about
  std::string method = {};               ///< that found the plan
  std::optional<Cost> lower_bound = {};  ///< not checked; by default the cost of running every op once
  std::optional<Bytes> arena = {};     ///< of a step that runs at planned addresses, the fixed bytes included
  std::optional<Bytes> resident = {};  ///< measured, of a process that runs it, the fixed bytes included
  std::vector<ReportPoint> points = {};  ///< for overhead against budget; without any, the page leaves it out
};

/// One self-contained HTML page that compares the plan with keep-all; it loads nothing from elsewhere. Its
/// figures come from simulate() and explain(). Names, which come from files, are never treated as markup. An
/// error where the plan breaks the rules, the budget or the order, or costs less than the lower bound. Linear
/// time and memory, except for sorting; about 300 kB, plus the names and 50 bytes per step, tensor and op.
Result<std::string> report_html(const Graph& graph, const Plan& plan, const ReportOptions& options = {});

}  // namespace checkmate
#pragma GCC visibility pop
