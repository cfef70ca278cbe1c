#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// Every op once.
Outcome solve_keep_all(const SearchContext& search);

}  // namespace checkmate
