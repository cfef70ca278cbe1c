#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// Griewank and Walther's revolve, on a chain and on the chain of articulation points.
Outcome solve_griewank(const SearchContext& search);
Outcome solve_ap_griewank(const SearchContext& search);

}  // namespace checkmate
