#pragma once

#include <optional>
#include <string>

#include "solve/paper/stage_model.h"
#include "solve/solver.h"

/// What the methods on the paper's stage model share.
namespace checkmate {

/// Why the model is not built, if it is not: it would not fit in memory.
std::optional<std::string> stage_model_refusal(const Search& search, Partition partition,
                                               std::uint32_t stages = StageModel::kEveryOp);

/// A float from a solver as a bound on whole costs: less what its tolerances may add, then up to the next
/// whole number.
std::optional<Cost> safe_bound(const Graph& graph, double bound);

/// Limits, threads, seed and stop token of the search, for HiGHS.
LinearOptions linear_options(const Search& search);

}  // namespace checkmate
