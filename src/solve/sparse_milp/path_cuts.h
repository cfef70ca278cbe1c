#pragma once

#include <span>
#include <vector>

#include "solve/sparse_milp/sparse_model.h"

namespace checkmate {

/// Within the blocks after moment `from` up to moment `to`, whatever is asked for is rerun back from its
/// source, or a tensor on the way from there was kept across `from`:
///
///     source -> kept[n] -> ... -> kept[0] -> demand        sum of R[source] + sum of S[kept] >= demand
///
/// Every whole solution holds it: follow the reruns and stays back to `from`. A fractional one may pay for a
/// value in small parts, block by block, and the cut asks for all of them.
struct PathCut {
  enum class Demand : std::uint8_t {
    kFirstRun,  ///< 1: an op that first runs there reads kept[0], or the end asks for it
    kKept,      ///< S of kept[0] across `to`
    kRerun,     ///< R of `user`, which reads kept[0], in the block that begins after moment `user_from`
  };
  Stage from;
  Stage to;  ///< the number of ops: to the end
  Demand demand = Demand::kFirstRun;
  OpId user = {};
  Stage user_from = 0;
  OpId source = {};
  std::vector<TensorId> kept = {};
  auto operator<=>(const PathCut&) const = default;
};

/// The cuts that the values break most, the worst first, at most `limit`. O(blocks^2 (ops + edges)).
std::vector<PathCut> broken_path_cuts(const SparseModel& model, std::span<const double> values,
                                      std::size_t limit);

/// The cut as a row. `from`, `to` and `user_from` must be moments of the model.
LinearRow row_of(const SparseModel& model, const PathCut& cut);

}  // namespace checkmate
