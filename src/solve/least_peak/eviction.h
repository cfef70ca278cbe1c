#pragma once

#include <optional>
#include <vector>

#include "solve/common/lifetimes.h"
#include "solve/common/solver.h"

namespace checkmate {

/// How much each of three properties counts when a value has to go: those go first that are cheap to make
/// again, large, and not needed for long.
struct EvictionWeights {
  double cost = 1;
  double bytes = 1;
  double distance = 1;
  /// Whether inputs that wait while another input of their op is made may go as well, if nothing else can.
  bool waiting_may_go = false;
  double luck = 0;         ///< up to this much is added to each value's worth, at random
  std::uint64_t seed = 1;  ///< of that
};

/// Runs the ops in order within `room` bytes (the budget without the fixed bytes), as a program would that
/// runs out of memory: whatever is missing is made again when it is needed, and whenever something does not
/// fit, values go one by one. Unlike plans of the paper's class, an op may run again more than once per
/// stage, and short chains of recomputation take the place of one long chain.
///
/// Needs are known, not guessed: a value that is read by a first run to come, or by what would have to be
/// made again for one, is needed then; others go for nothing. What could never be made again stays.
///
/// The runs are a plan of the fixed order within the room; nothing where values get in each other's way, the
/// steps pass `most_steps`, or the search is stopped. Time: O(ops x edges), and for each eviction the values
/// in memory.
std::optional<std::vector<OpId>> evicting_run(const SearchContext& search, const Lifetimes& graph,
                                              std::int64_t room, const EvictionWeights& weights,
                                              std::size_t most_steps);

}  // namespace checkmate
