#pragma once

#include <span>

#include "solve/common/solver.h"

namespace checkmate {

/// The methods of the literature that need no search: quick, and their plans are of the paper's class.
/// `keep-all` is the first.
std::span<const Solver> baselines();

/// The cheapest plan of all of them, costed by the simulator; what they have proven otherwise.
Outcome cheapest_baseline(const SearchContext& search);

}  // namespace checkmate
