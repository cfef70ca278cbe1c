#pragma once

#include <cstdint>

#include "solve/common/incumbent.h"

namespace checkmate {

/// Looks for cheaper plans whose first runs may move, by annealing, until the search or the incumbent says
/// stop, and offers them. A run of the annealing starts from nothing or from the incumbent's plan, whoever
/// found it. Does nothing where the graph's bytes are too many for exact sums: 2^51 times their greatest
/// common divisor. With a limit of moves, the same seed tries the same moves. Memory O(runs and what they
/// read).
void anneal_free_order(const SearchContext& search, Incumbent& incumbent, std::uint64_t seed);

}  // namespace checkmate
