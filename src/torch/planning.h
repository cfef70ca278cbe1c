#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/io.h"
#include "checkmate/result.h"
#include "checkmate/torch_step.h"
#include "torch/costs.h"

/// From costs to a plan that fits: one that a search finds, and whose allocations have addresses within the
/// budget.
namespace checkmate::torch {

/// A program with costs as a graph for the solver: ops are its units, in order, tensors its blocks, and after
/// them what keeps units in order.
Result<Graph> planning_graph(const Program& program, const std::vector<UnitCost>& costs,
                             const std::string& name, const std::string& cost_unit, Order order,
                             Bytes reserved);

struct PlannedStep {
  Graph graph;
  PlanRecord record;
  std::optional<StepLayout> layout = {};  ///< nothing: allocations are not known yet
};

/// `budget` in bytes; nothing for keep-all. `start` is the plan of a similar step.
Result<PlannedStep> planned(const Program& program, const std::vector<UnitCost>& costs, Graph graph,
                            std::optional<Bytes> budget, const Options& options,
                            const std::vector<OpId>& start);

/// A plan without addresses.
Result<PlanRecord> solved(const Graph& graph, std::optional<Bytes> budget, const Options& options,
                          const std::vector<OpId>& start);

/// The same for two programs that can run the same plans.
std::string fingerprint(const Program& program);

}  // namespace checkmate::torch
