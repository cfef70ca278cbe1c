#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// The dynamic program over a chain of layers.
Outcome solve_chain_dp(const SearchContext& search);

}  // namespace checkmate
