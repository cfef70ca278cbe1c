#pragma once

#include <span>
#include <vector>

#include "solve/sparse_milp/sparse_model.h"

namespace checkmate {

/// The runs of a solution: before each first run of a block the missing ancestors, each once per block and in
/// order; before the block's last first run also what is kept out of it. Outputs that are missing in the last
/// block are made there too or, where that is over the budget, at the best of a few places in the block or
/// after it. Kept is what is kept by more than half. Runnable, but the memory between moments may be over the
/// budget.
std::vector<OpId> steps_of(const SparseModel& model, std::span<const double> values);

/// Where a plan, or a solution, needs most memory.
struct Tight {
  Stage stage;
  OpId op;       ///< that runs there
  double share;  ///< of the budget without the fixed bytes
};

/// Of each stage of a runnable plan the step that needs most.
std::vector<Tight> tightest_steps(const Graph& graph, Bytes budget, std::span<const OpId> steps);

/// By stage, about what the values need there, first runs only: between moments the model does not say.
std::vector<Tight> tightest_first_runs(const SparseModel& model, std::span<const double> values);

}  // namespace checkmate
