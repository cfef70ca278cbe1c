#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkmate/graph.h"
#include "solve/common/search_context.h"
#include "solve/common/stage.h"

namespace checkmate {

/// Which values a checkpointing method keeps: the paper's S.
class Retention {
 public:
  virtual ~Retention() = default;
  /// The last stage in which an output of `op`, run in `stage`, is still to be there. At least `stage`.
  virtual Stage keep_until(OpId op, TensorId output, Stage stage) = 0;
};

/// The least recomputation for a retention: the paper's R given S (appendix B there). Before each first run,
/// the missing inputs are recomputed, and their missing inputs, each once, in index order. Outputs and
/// whatever cannot be recomputed are kept to the end. Nothing when the search is stopped or the steps pass
/// kMostSteps. Time O(steps log steps + edges run).
std::optional<std::vector<OpId>> expand(const SearchContext& search, Retention& retention);

/// The longest plan that is built: 64 Mi steps, 256 MiB.
inline constexpr std::size_t kMostSteps = std::size_t{1} << 26;

}  // namespace checkmate
