#pragma once

#include "solve/common/search_context.h"

namespace checkmate {

/// The smallest budget for which a short search finds a plan, at most `known`, which must have one. Bisects
/// down to `needed`, for a second at most.
Bytes sufficient_budget(const SearchContext& search, Bytes needed, Bytes known);

}  // namespace checkmate
