#include "checkmate/max_batch.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "checkmate/bound.h"
#include "text.h"

namespace checkmate {
namespace {

/// Each op once, and the forward part as often again as allowed.
Cost dearest(const Graph& graph, double extra_forward) {
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

  /// Whether one op alone needs too much. A batch whose sizes pass what a graph can hold does not fit either.
  Result<bool> over_structural_limit(std::int64_t batch) {
    const Result<Graph> graph = network_(batch);
    if (!graph && graph.error().code == ErrorCode::kInvalidGraph) return true;
    if (!graph) return graph.error();
    const StructuralMinimum minimum = structural_minimum(*graph);
    op_ = graph->name(minimum.op);
    return graph->fixed_bytes() + minimum.bytes > options_.memory;
  }
  const std::string& structural_op() const { return op_; }

  struct Probe {
    bool fits = false;
    bool refuted = false;  ///< proven: no plan
    double overhead = 1;
  };
  Result<Probe> probe(std::int64_t batch) {
    const Result<Graph> graph = network_(batch);
    if (!graph) return graph.error();
    SolveOptions solve_options = options_.solve;
    solve_options.budget = options_.memory;
    const Result<SolveResult> result = solve(*graph, solve_options, stop_);
    if (!result) return result.error();
    const Cost limit = dearest(*graph, options_.extra_forward);
    Probe probe;
    probe.fits = result->plan && result->cost <= limit;
    probe.refuted = result->status == Status::kInfeasible || result->lower_bound > limit;
    if (result->plan) probe.overhead = overhead(*graph, result->cost);
    if (options_.on_probe) options_.on_probe(batch, probe.fits);
    return probe;
  }

 private:
  const std::function<Result<Graph>(std::int64_t)>& network_;
  const MaxBatchOptions& options_;
  const std::stop_token& stop_;
  std::string op_;
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
    const Result<bool> over = prober.over_structural_limit(middle);
    if (!over) return over.error();
    (*over ? high : low) = middle;
  }
  answer.upper_limit = low;
  if (const Result<bool> over = prober.over_structural_limit(low + 1); over && *over) {
    answer.certificate =
        fmt::format("at {} op {} alone needs more", low + 1, in_quotes(prober.structural_op()));
  }

  // The limit itself first: where it holds, nothing is left to search.
  low = 0;
  high = answer.upper_limit + 1;
  for (std::int64_t batch = answer.upper_limit; high - low > 1 && !stop.stop_requested();
       batch = low + (high - low) / 2) {
    const Result<Prober::Probe> probe = prober.probe(batch);
    if (!probe) return probe.error();
    if (probe->fits) {
      low = batch;
      answer.overhead = probe->overhead;
    } else {
      high = batch;
    }
    if (probe->refuted && batch <= answer.upper_limit) {
      answer.upper_limit = batch - 1;
      answer.certificate = fmt::format("at {} a bound passes the limit", batch);
    }
  }
  answer.batch = low;
  answer.proven = answer.batch == answer.upper_limit;
  if (!answer.proven)
    answer.certificate = fmt::format("not proven: up to {} may be possible", answer.upper_limit);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

}  // namespace checkmate
