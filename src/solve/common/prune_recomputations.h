#pragma once

#include <vector>

#include "solve/common/solver.h"

namespace checkmate {

/// Uses the memory that a plan leaves free: removes recomputations, the most expensive first, each together
/// with those that only fed it, wherever the peak stays within the budget. The result is never more
/// expensive, and within the budget if the plan was. Time O(recomputations x steps).
std::vector<OpId> prune_recomputations(const SearchContext& search, std::vector<OpId> steps);

}  // namespace checkmate
