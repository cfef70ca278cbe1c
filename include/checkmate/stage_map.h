#pragma once

#include <cstdint>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// What a plan does stage by stage: the paper's matrices R (what runs) and S (what is kept), for any plan.
///
/// Stage t ends with the t-th first run and includes the recomputations before it; what comes after the last
/// first run is a stage of its own. An op's place is its place in the order of first runs; in a plan of the
/// fixed order it is the op's index. For the steps a b a c, where a is dropped after b:
///
///              place  a  b  c
///     stage 0         1
///     stage 1         k  1          1 first run, 2 recomputed, k kept from the stage before
///     stage 2         2  k  1
struct StageMap {
  struct Run {
    std::uint32_t stage;
    std::uint32_t place;
    bool operator==(const Run&) const = default;
  };
  /// A result of the op is in memory at the beginning of stages `first` to `last`.
  struct Stay {
    std::uint32_t place;
    std::uint32_t first;
    std::uint32_t last;
    bool operator==(const Stay&) const = default;
  };
  std::uint32_t stages = 0;
  std::vector<OpId> ops;        ///< by place; the op at place t first runs in stage t
  std::vector<Run> recomputed;  ///< every run but the first ones, in the plan's order
  std::vector<Stay> kept;       ///< by place, then stage; stays of one op neither overlap nor touch
};

/// An error where the plan cannot run. Linear time and memory, except for sorting.
Result<StageMap> stage_map(const Graph& graph, const Plan& plan);

}  // namespace checkmate
#pragma GCC visibility pop
