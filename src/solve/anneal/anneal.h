#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solve/common/incumbent.h"

namespace checkmate {

/// Searches for cheaper plans of the fixed order, by restarts of annealing, until the incumbent is done or
/// the moves are used up. Takes over better plans that others offer. With a limit of moves nothing depends on
/// the clock.
void anneal(const SearchContext& search, Incumbent& incumbent, std::uint64_t seed);

/// A plan of the fixed order within the budget, whatever it costs, from runs that need more: by greedy repair
/// and a short, cold annealing. Nothing when the time is up.
std::optional<std::vector<OpId>> anneal_into(const SearchContext& search, Bytes budget,
                                             std::span<const OpId> steps, double seconds, std::uint64_t seed);

/// Annealing as a method of its own.
Outcome solve_anneal(const SearchContext& search);

}  // namespace checkmate
