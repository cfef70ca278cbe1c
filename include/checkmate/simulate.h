#pragma once

#include <cstdint>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// One stay of a tensor in memory: made by step `first`, there until the end of step `last`.
struct LiveInterval {
  TensorId tensor;
  std::uint32_t first;
  std::uint32_t last;
  bool operator==(const LiveInterval&) const = default;
};

/// What happens when a plan runs.
struct Simulation {
  Cost cost;
  Bytes peak;                 ///< the largest memory, fixed bytes included
  std::size_t peak_step;      ///< the first step that has it
  std::vector<Bytes> memory;  ///< while each step runs: fixed + live + its outputs + its workspace
  std::vector<std::uint32_t> run_counts;  ///< per op
  std::vector<LiveInterval> intervals;    ///< sorted by end; what is never freed comes last, by tensor
};

/// Runs the plan as it stands, step by step. An error at the first step that cannot run: an input is not in
/// memory, an output is still there from an earlier run, a non-recomputable op runs again, a free names a
/// tensor that is not there; or at the end: an op never ran, an output is gone. It checks neither the order
/// of first runs nor a budget. Linear time and memory in the plan and the graph.
Result<Simulation> simulate(const Graph& graph, const Plan& plan);

/// The peak of keep_all_plan() without the fixed bytes: the base of budgets in percent.
Bytes keep_all_peak(const Graph& graph);

}  // namespace checkmate
#pragma GCC visibility pop
