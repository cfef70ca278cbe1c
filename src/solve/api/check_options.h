#pragma once

#include "checkmate/solve.h"

namespace checkmate {

/// An error for options that no search takes: time, threads, gap.
Result<void> check_search_options(const SolveOptions& options);
/// The same, and those that this graph does not take.
Result<void> check_options(const Graph& graph, const SolveOptions& options);

}  // namespace checkmate
