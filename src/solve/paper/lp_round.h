#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// The paper's two-phase rounding of the relaxation.
Outcome solve_lp_round(const SearchContext& search);

}  // namespace checkmate
