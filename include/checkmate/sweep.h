#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

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
/// method, then by rising budget.
Result<std::vector<SweepPoint>> sweep(const Graph& graph, const SweepOptions& options,
                                      const std::stop_token& stop = {});

/// A table for other programs, and for parse_tradeoff(): one line per point.
std::string sweep_to_csv(const Graph& graph, const std::vector<SweepPoint>& points);

}  // namespace checkmate
