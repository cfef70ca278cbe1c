#include "checkmate/max_batch.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "checkmate/structural_minimum.h"
#include "core/text.h"
#include "core/try.h"
#include "solve/least_budget/set_bracket.h"

namespace checkmate {
namespace {

/// Each op once, and the forward part as often again as allowed.
Cost highest_cost(const Graph& graph, double extra_forward) {
  Cost forward;
  for (const OpId op : graph.ops()) {
    if (graph.phase(op) == Phase::kForward) forward += graph.cost(op);
  }
  const double extra = std::floor(extra_forward * static_cast<double>(forward.count()));
  const auto most = static_cast<double>(kLargestTotal - graph.keep_all_cost().count());
  return graph.keep_all_cost() + Cost{static_cast<std::int64_t>(std::min(extra, most))};
}

class Prober {
 public:
  Prober(const std::function<Result<Graph>(std::int64_t)>& network, const MaxBatchOptions& options,
         const std::stop_token& stop)
      : network_(network), options_(options), stop_(stop) {}

  /// Whether one op alone needs too much. A batch whose sizes exceed what a graph can hold does not fit
  /// either.
  Result<bool> over_structural_limit(std::int64_t batch) {
    const Result<Graph> graph = network_(batch);
    if (!graph && graph.error().code == ErrorCode::kInvalidGraph) return true;
    if (!graph) return graph.error();
    const StructuralMinimum minimum = structural_minimum(*graph);
    op_ = graph->name(minimum.op);
    return graph->fixed_bytes() + minimum.bytes > options_.memory;
  }
  const std::string& structural_op() const { return op_; }

  /// Whether no plan fits, whatever it costs, as far as the search for the least budget can tell.
  Result<bool> proven_too_large(std::int64_t batch) {
    constexpr std::size_t kMostSets = 500'000;
    CHECKMATE_TRY(const Graph graph, network_(batch));
    SolveOptions options = options_.solve;
    options.budget = options_.memory;
    return bracket_by_sets(SearchContext(graph, options, stop_), kMostSets, options_.memory).needed >
           options_.memory;
  }

  /// Bisects: larger batches than the answer are proven too large.
  Result<std::int64_t> largest_not_refuted(std::int64_t low, std::int64_t high) {
    ++high;
    while (high - low > 1 && !stop_.stop_requested()) {
      const std::int64_t middle = low + (high - low) / 2;
      CHECKMATE_TRY(const bool refuted, proven_too_large(middle));
      (refuted ? high : low) = middle;
    }
    return high - 1;
  }

  struct Probe {
    bool fits = false;
    bool refuted = false;  ///< proven: no plan
    double overhead = 1;
  };
  Result<Probe> probe(std::int64_t batch) {
    CHECKMATE_TRY(const Graph graph, network_(batch));
    const Cost limit = highest_cost(graph, options_.extra_forward);
    // Any plan within the limit is as good as the best one, and any bound above it ends the search.
    std::stop_source enough;
    const std::stop_callback on_stop(stop_, [&] { enough.request_stop(); });
    SolveOptions solve_options = options_.solve;
    solve_options.budget = options_.memory;
    solve_options.start = start_;
    solve_options.on_progress = [&](const Progress& progress) {
      if ((progress.cost && *progress.cost <= limit) || (progress.bound && *progress.bound > limit)) {
        enough.request_stop();
      }
      if (options_.solve.on_progress) options_.solve.on_progress(progress);
    };
    CHECKMATE_TRY(SolveResult result, solve(graph, solve_options, enough.get_token()));
    Probe probe;
    probe.fits = result.plan && *result.cost <= limit;
    probe.refuted = result.status == Status::kInfeasible || result.lower_bound > limit;
    if (result.plan) probe.overhead = overhead(graph, *result.cost);
    // Another batch has the same ops: its search begins with this plan, or with what can be made of it.
    if (probe.fits) start_ = std::move(result.plan->steps);
    if (options_.on_probe) options_.on_probe(batch, probe.fits);
    return probe;
  }

 private:
  const std::function<Result<Graph>(std::int64_t)>& network_;
  const MaxBatchOptions& options_;
  const std::stop_token& stop_;
  std::string op_;
  std::vector<OpId> start_;
};

}  // namespace

Result<MaxBatch> max_batch(const std::function<Result<Graph>(std::int64_t batch)>& network,
                           const MaxBatchOptions& options, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  Prober prober(network, options, stop);
  MaxBatch answer;

  // The structural limit: the largest batch at which every op fits by itself.
  std::int64_t low = 0;
  std::int64_t high = options.largest + 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    CHECKMATE_TRY(const bool over, prober.over_structural_limit(middle));
    (over ? high : low) = middle;
  }
  answer.upper_limit = low;
  if (const Result<bool> over = prober.over_structural_limit(low + 1); over && *over) {
    answer.certificate =
        fmt::format("at batch {}, op {} alone needs more", low + 1, in_quotes(prober.structural_op()));
  }

  // The limit itself first: where it holds, nothing is left to search. Where it does not, the least budgets
  // of smaller batches may prove a lower one.
  low = 0;
  high = answer.upper_limit + 1;
  bool limit_probed = false;
  for (std::int64_t batch = answer.upper_limit; high - low > 1 && !stop.stop_requested();
       batch = low + (high - low) / 2) {
    CHECKMATE_TRY(const Prober::Probe probe, prober.probe(batch));
    if (probe.fits) {
      low = batch;
      answer.overhead = probe.overhead;
    } else {
      high = batch;
    }
    if (probe.refuted && batch <= answer.upper_limit) {
      answer.upper_limit = batch - 1;
      answer.certificate = fmt::format("at batch {}, the lower bound exceeds the limit", batch);
    }
    if (std::exchange(limit_probed, true) || probe.fits) continue;
    CHECKMATE_TRY(const std::int64_t limit, prober.largest_not_refuted(low, answer.upper_limit));
    if (limit < answer.upper_limit) {
      answer.upper_limit = limit;
      answer.certificate = fmt::format("at batch {}, no plan fits, whatever it recomputes", limit + 1);
      high = std::min(high, limit + 1);
    }
  }
  answer.batch = low;
  answer.proven = answer.batch == answer.upper_limit;
  if (!answer.proven)
    answer.certificate = fmt::format("not proven: a batch of up to {} may be possible", answer.upper_limit);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

}  // namespace checkmate
