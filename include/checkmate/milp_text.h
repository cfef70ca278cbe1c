#pragma once

#include <string>
#include <string_view>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// The program that `milp` solves, as text in the format `mps` or `lp`. Columns are named as in
/// docs/formulation.md.
Result<std::string> milp_text(const Graph& graph, const SolveOptions& options, std::string_view format);

}  // namespace checkmate
#pragma GCC visibility pop
