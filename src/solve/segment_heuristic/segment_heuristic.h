#pragma once

#include <optional>
#include <vector>

#include "solve/common/incumbent.h"
#include "solve/common/solver.h"

namespace checkmate {

/// A plan for graphs of any size, in nearly linear time: chooses by cost per byte what to drop over
/// keep-all's peak, and brings it back segment by segment. The cheapest over a dozen segment sizes, or
/// nothing when none fits.
std::optional<std::vector<OpId>> segmented_start(const SearchContext& search);

/// The same, but every improvement is offered as it is found.
void segmented_start(const SearchContext& search, Incumbent& incumbent);

}  // namespace checkmate
