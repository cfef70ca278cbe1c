#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// All methods that help, in parallel.
Outcome solve_auto(const SearchContext& search);

}  // namespace checkmate
