#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"

#pragma GCC visibility push(default)
namespace checkmate {

enum class ViolationKind : std::uint8_t {
  kFreesDoNotMatchSteps,  ///< the number of lists of frees is not the number of steps
  kUnknownOp,             ///< a step runs an op that the graph does not have
  kUnknownTensor,         ///< a free names a tensor that the graph does not have
  kNeverRuns,             ///< an op has no step
  kRunsAgain,             ///< a non-recomputable op has a second step
  kFirstRunOutOfOrder,    ///< in fixed order, an op first runs before one that the graph lists earlier
  kInputMissing,          ///< a step reads a tensor that is not in memory
  kMadeWhileLive,         ///< a step makes a tensor that is in memory already
  kFreedWhileAbsent,      ///< a free names a tensor that is not in memory
  kOutputNotKept,         ///< an output is freed after its last run
  kOverBudget,            ///< a step needs more memory than the budget
  kCostOverflow,          ///< up to this step the plan costs 2^63 or more
};

/// What is wrong, and where: those of step, op and tensor that apply.
struct Violation {
  ViolationKind kind;
  std::optional<std::uint64_t> step = {};
  std::optional<OpId> op = {};
  std::optional<TensorId> tensor = {};
  Bytes memory = {};  ///< kOverBudget: what the step needs
  bool operator==(const Violation&) const = default;
};

/// All violations of the rules of a plan; empty when it is valid. Independent of simulate(): it follows each
/// tensor through time, whereas simulate() goes step by step. Time O((steps + edges run) log runs),
/// memory linear.
std::vector<Violation> validate(const Graph& graph, const Plan& plan, Bytes budget,
                                Order order = Order::kFixed);

/// One line: `step 7 (op 3 'conv1') reads tensor 2 'x', which is not in memory`.
std::string describe(const Graph& graph, const Violation& violation);

}  // namespace checkmate
#pragma GCC visibility pop
