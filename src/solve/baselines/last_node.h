#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// Keeps only the latest value and recomputes all else each time.
Outcome solve_last_node(const SearchContext& search);

}  // namespace checkmate
