#pragma once

#include "solve/solver.h"

namespace checkmate {

Outcome solve_chain_dp(const Search& search);

}  // namespace checkmate
