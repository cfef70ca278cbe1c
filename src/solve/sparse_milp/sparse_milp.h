#pragma once

#include "solve/common/incumbent.h"
#include "solve/common/solver.h"

namespace checkmate {

/// Raises the incumbent's bounds, and offers it plans, until the gap is closed, the search stops or nothing
/// more can be gained. Others may offer better plans at the same time. For fixed order only: returns at once
/// for a free one, and for graphs that are too large.
void improve_bounds(const SearchContext& search, Incumbent& incumbent);

/// The same as a method of its own.
Outcome solve_sparse_milp(const SearchContext& search);

}  // namespace checkmate
