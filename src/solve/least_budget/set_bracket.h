#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "checkmate/structural_minimum.h"
#include "solve/common/solver.h"

namespace checkmate {

/// The least memory that has a plan. All amounts include the graph's fixed bytes.
struct SetBracket {
  Bytes needed;                          ///< no plan, of any order, fits in less
  std::optional<Bytes> sufficient = {};  ///< a plan of the order asked for fits in this
  bool exact = false;                    ///< sufficient == needed
  std::optional<std::vector<OpId>> steps =
      {};  ///< such a plan, for graphs of up to a few hundred ops; chosen for its peak, not its cost
  std::string detail = {};  ///< one sentence: what needs as much as `needed`
};

/// Looks for the least budget from the end of the plan. Let F(T) be the least memory in which the values T
/// can be in memory at once, starting from nothing. The latest run was that of an op p which makes one of T,
/// with the rest of T and its own inputs there, and before it T - outputs(p) + inputs(p) were in memory:
///
///     F(nothing) = 0
///     F(T) = min over such p of max(bytes(T + inputs(p) + outputs(p)) + workspace(p), F(T - outputs(p) +
///     inputs(p)))
///
/// Every plan has all outputs of the graph in memory at its end, and at some time makes a value that no op
/// reads; so F of these sets, the targets, are lower bounds: cut the plan there, leave out the runs that make
/// nothing for T, and what is left is a path of the recurrence. An op that runs once may be the latest only
/// while nothing in the rest of T is made from it: earlier than its only run there is nothing of the kind.
///
/// Where all ops are recomputable, the largest F of a target is also enough, whatever the order of first
/// runs: take the ops in that order, make each from nothing and forget all, and at the end make the outputs;
/// F of an op is at most F of a target that needs it. Workspace, several outputs of an op and outputs that
/// stay are all in the recurrence. With ops that run once the targets cannot be made one after the other, so
/// F is a lower bound only; `sufficient` is then set only where the ways to the targets, end to end, happen
/// to be a plan.
///
/// F is a bottleneck path over sets, searched best-first; subsets bound it from below (SetBounds), which is
/// what proves ResNet50's. Ends when the two figures meet, at search.stopped(), or when no more states may be
/// kept; with `enough`, as soon as needed is above it or sufficient is not. Memory: at most about 300 bytes
/// for each of most_states. Time: at most some microseconds for each of 16 x most_states, more where ops have
/// many inputs.
SetBracket bracket_by_sets(const SearchContext& search, std::size_t most_states,
                           std::optional<Bytes> enough = {});

}  // namespace checkmate
