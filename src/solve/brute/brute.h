#pragma once

#include <cstddef>

#include "solve/common/solver.h"

namespace checkmate {

/// Exact, by trying everything; for tiny graphs.
Outcome solve_brute(const SearchContext& search);
/// At about 100 bytes and a microsecond per state.
Outcome solve_brute(const SearchContext& search, std::size_t most_states);
/// Exact over the paper's class of plans.
Outcome solve_brute_stages(const SearchContext& search);

}  // namespace checkmate
