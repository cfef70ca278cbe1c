#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

namespace checkmate {

struct MaxBatchOptions {
  Bytes memory;              ///< for everything
  double extra_forward = 1;  ///< the plan may cost so many forward passes more than running each op once
  SolveOptions solve;        ///< for each probe; its budget is not looked at
  std::int64_t largest = 1 << 20;
  std::function<void(std::int64_t batch, bool fits)> on_probe = {};
};

struct MaxBatch {
  std::int64_t batch = 0;        ///< the largest that was found, 0 when none fits
  std::int64_t upper_limit = 0;  ///< proven: no larger batch has a plan
  bool proven = false;           ///< the two are the same
  std::string certificate;       ///< why a larger batch does not fit, or that it is not proven
  double overhead = 1;           ///< of the plan for `batch`
  double seconds = 0;
};

/// The largest batch whose plan holds the memory and the extra work. `network` builds the graph for a batch;
/// bytes and costs must not fall as it grows. Tries the structural limit first, then bisects.
Result<MaxBatch> max_batch(const std::function<Result<Graph>(std::int64_t batch)>& network,
                           const MaxBatchOptions& options, const std::stop_token& stop = {});

}  // namespace checkmate
