#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

#pragma GCC visibility push(default)
namespace checkmate {

struct MaxBatchOptions {
  Bytes memory;              ///< for everything
  double extra_forward = 1;  ///< how many extra forward passes a plan may cost
  SolveOptions solve;        ///< for each probe; its budget is ignored
  std::int64_t largest = 1 << 20;
  std::function<void(std::int64_t batch, bool fits)> on_probe = {};
};

struct MaxBatch {
  std::int64_t batch = 0;        ///< the largest that was found; 0 when none fits
  std::int64_t upper_limit = 0;  ///< proven: no larger batch has a plan
  bool proven = false;           ///< the two are the same
  std::string certificate;       ///< why a larger batch does not fit, or that it is not proven
  double overhead = 1;           ///< of the plan for `batch`
  double seconds = 0;
};

/// The largest batch with a plan within the memory and the extra cost. `network` builds the graph for a
/// batch; bytes and costs must not decrease as the batch grows. Tries the structural limit first, then
/// bisects.
Result<MaxBatch> max_batch(const std::function<Result<Graph>(std::int64_t batch)>& network,
                           const MaxBatchOptions& options, const std::stop_token& stop = {});

}  // namespace checkmate
#pragma GCC visibility pop
