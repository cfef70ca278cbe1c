#include "solve/paper/stage_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text.h"

namespace checkmate {

std::optional<std::string> stage_model_refusal(const Search& search, Partition partition,
                                               std::uint32_t stages) {
  constexpr std::size_t kMostColumns = 4'000'000;
  const std::size_t columns = StageModel::column_estimate(search.graph, partition, stages);
  if (columns <= kMostColumns) return std::nullopt;
  return fmt::format("the paper's model of this graph has about {} columns; it is built up to {}",
                     grouped(static_cast<std::int64_t>(columns)), grouped(kMostColumns));
}

std::optional<Cost> safe_bound(const Graph& graph, double bound) {
  constexpr double kTolerance = 1e-6;  // HiGHS's own, for feasibility and optimality
  if (!std::isfinite(bound) || bound <= -LinearProgram::kInfinity) return std::nullopt;
  const double safe = std::ceil(bound - kTolerance * std::max(1.0, std::abs(bound)));
  if (safe >= static_cast<double>(kLargestTotal)) return std::nullopt;
  return std::max(graph.keep_all_cost(), Cost{static_cast<std::int64_t>(safe)});
}

LinearOptions linear_options(const Search& search) {
  LinearOptions options;
  options.time_limit = search.seconds_left();
  options.threads = search.options.threads;
  options.seed = search.options.seed;
  options.stop = search.stop_token();
  return options;
}

}  // namespace checkmate
