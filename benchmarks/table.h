#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/result_table.h"
#include "measure.h"

namespace checkmate::bench {

/// All runs on one instance.
struct Measured {
  Instance instance;
  std::size_t ops = 0;
  Bytes budget;
  Cost keep_all_cost;
  std::vector<Run> runs;
};

/// One line per run.
experiments::ResultTable runs_table(std::span<const Measured> measured);
/// One line per instance and method, for the seed with the most expensive plan, against the figures to beat.
experiments::ResultTable summary_table(std::string_view set, std::span<const Measured> measured);

}  // namespace checkmate::bench
