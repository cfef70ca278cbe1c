#pragma once

#include "solve/solver.h"

namespace checkmate {

/// Method `chain-dp`: the forward part as a chain of layers, whatever its shape (ChainModel), the cheapest
/// schedules of that chain by dynamic programming (ChainProgram), and of those the cheapest that the
/// simulator finds within the budget. Chains are cut into at most 192, 96 and 48 layers, with as many slots
/// of memory as keep layers^3 x slots near 1e9 each: about a second on any graph, plus O(ops x layers). On a
/// chain of equal layers, at most 192, nothing is rounded away. Proves nothing.
Outcome solve_chain_dp(const Search& search);

}  // namespace checkmate
