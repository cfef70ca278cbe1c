#pragma once

#include "solve/incumbent.h"
#include "solve/solver.h"

namespace checkmate {

/// Raises the incumbent's bounds, and offers it plans, until the gap is closed, the search stops or nothing
/// more can be gained. Others may offer better plans at the same time. For fixed order only: returns at once
/// for a free one, and for graphs that are too large.
void improve_bounds(const Search& search, Incumbent& incumbent);

}  // namespace checkmate
