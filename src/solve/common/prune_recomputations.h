#pragma once

#include <vector>

#include "solve/common/solver.h"

namespace checkmate {

/// Uses the memory that a plan leaves over: takes out recomputations, the dearest first, each with those that
/// only fed it, wherever the peak stays within the budget. Never dearer than it was, and within the budget if
/// it was. Time O(recomputations x steps).
std::vector<OpId> prune_recomputations(const SearchContext& search, std::vector<OpId> steps);

}  // namespace checkmate
