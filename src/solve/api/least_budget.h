#pragma once

#include "checkmate/least_budget.h"
#include "solve/least_peak/peak_board.h"

namespace checkmate {

/// Proofs of what is needed, and plans with small peaks, on one board: side by side with two threads, else in
/// turn. Where the search counts moves, nothing depends on the clock but the deadline.
void search_least_budget(const SearchContext& search, PeakBoard& board);

}  // namespace checkmate
