#include "solve/api/check_options.h"

#include <fmt/format.h>

#include "checkmate/budget.h"
#include "core/try.h"

namespace checkmate {
namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

}  // namespace

Result<void> check_search_options(const SolveOptions& options) {
  if (!(options.time_limit.count() > 0)) return invalid("the time limit must be positive");
  if (options.threads < 1) return invalid(fmt::format("threads must be at least 1, got {}", options.threads));
  constexpr int kMostThreads = 256;
  if (options.threads > kMostThreads)
    return invalid(fmt::format("threads must be at most {}, got {}", kMostThreads, options.threads));
  if (!(options.gap >= 0)) return invalid("the gap must be 0 or more");
  if (!(options.patience >= 0)) return invalid("the patience must be 0 seconds or more");
  return {};
}

Result<void> check_options(const Graph& graph, const SolveOptions& options) {
  if (options.budget < Bytes{0} || (options.budget == Bytes{0} && !needs_no_memory(graph)))
    return invalid(fmt::format("budget must be positive, got {}", options.budget.count()));
  CHECKMATE_TRY(check_search_options(options));
  constexpr int kMostSamples = 1'000'000;
  if (options.samples < 0 || options.samples > kMostSamples)
    return invalid(fmt::format("samples must be from 0 to {}, got {}", kMostSamples, options.samples));
  if (options.free_stages && options.order == Order::kFixed)
    return invalid("free stages let first runs move, so they also need the free order");
  return {};
}

}  // namespace checkmate
