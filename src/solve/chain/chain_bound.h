#pragma once

#include <optional>

#include "solve/common/solver.h"

namespace checkmate {

/// A lower bound on the cost of every plan, of any order, for graphs that are a chain of at most 63 layers,
/// one more op of that chain, the loss, and a chain of gradients: ops that read the one before and any
/// layers. Each makes one value. Nothing for other graphs, those with outputs or with ops that run once among
/// them. Phases do not matter.
///
/// It holds whatever a plan recomputes. Take the last time that the loss runs. Before, all layers ran, and
/// some values S are left beside it. After it each gradient runs, for the first time since then in their
/// order, and from one to the next some gradient or the loss is in memory all the time, for otherwise the
/// loss would have to run again. So the plan costs at least all ops once, and the layers' runs of the
/// cheapest way from any S that fits beside the loss through all gradients, in which between two of them only
/// the smallest gradient so far takes memory. Where all values have one size that is the optimum.
///
/// That way is searched with A*, from the last gradient alone to all of them: what is missing for the
/// gradients up to some later one, and the cheapest way from there on with any S, bound the rest. S need not
/// be guessed: its values take their memory without being named until they are used. A search that is
/// stopped, or has too many states, leaves the least cost that was still open, which is a bound too. Memory:
/// about 100 bytes for each of `most_states`; a million take a second or two.
std::optional<Cost> chain_bound(const SearchContext& search, std::size_t most_states = 2'000'000);

}  // namespace checkmate
