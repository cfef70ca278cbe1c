#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

#pragma GCC visibility push(default)
namespace checkmate {

struct SweepPoint {
  Bytes budget;
  std::string method;
  SolveResult result;
};

struct SweepOptions {
  std::vector<Bytes> budgets;        ///< in any order
  std::vector<std::string> methods;  ///< of methods()
  SolveOptions solve;                ///< for each point; its budget and method are ignored
  std::function<void(const SweepPoint&)> on_point = {};
};

/// Every method at every budget, from the smallest budget up. A plan for less memory also fits more, so each
/// search starts from the plan of the previous one: a larger budget never costs more. Points are sorted by
/// method, then by rising budget, and share_bounds(); those that on_point sees have their own.
Result<std::vector<SweepPoint>> sweep(const Graph& graph, const SweepOptions& options,
                                      const std::stop_token& stop = {});

/// Gives each of several searches of one graph and order the best lower bound that any of them proved for its
/// budget: what holds for a budget also holds for every smaller one. Bounds of the paper's class go only to
/// results that have one. A plan that meets its new bound is optimal.
void share_bounds(std::vector<SweepPoint>& points);

/// A table for other programs, and for parse_tradeoff(): one line per point.
std::string sweep_to_csv(const Graph& graph, const std::vector<SweepPoint>& points);

}  // namespace checkmate
#pragma GCC visibility pop
