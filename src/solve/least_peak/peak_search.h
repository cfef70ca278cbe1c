#pragma once

#include "solve/common/incumbent.h"
#include "solve/least_peak/peak_board.h"

namespace checkmate {

/// Looks for plans of the fixed order with smaller and smaller peaks, whatever they cost, until the board is
/// done. First by eviction, whose weights are tried in turn and then at random; then in turn with annealing:
/// from the best plan, for a budget that is a little smaller, and as soon as everything fits, for a smaller
/// one. Where the search counts moves, only the first turn, which does not depend on the clock.
void search_small_peaks(const SearchContext& search, PeakBoard& board, std::uint64_t seed);

/// Offers what eviction finds for the budget of the search, if the graph is small enough for that to be
/// quick.
void evict_within_budget(const SearchContext& search, Incumbent& incumbent);

}  // namespace checkmate
