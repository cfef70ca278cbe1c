#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// The paper's MILP, and its relaxation as a bound.
Outcome solve_milp(const SearchContext& search);
Outcome solve_lp_bound(const SearchContext& search);

}  // namespace checkmate
