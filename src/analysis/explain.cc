#include "checkmate/explain.h"

#include <algorithm>
#include <tuple>

#include "analysis/take_over.h"
#include "core/try.h"

namespace checkmate {
namespace {

using namespace literals;

std::uint32_t length(const LiveInterval& stay) { return stay.last - stay.first + 1; }

std::vector<Recomputation> recomputations(const Graph& graph, const Simulation& run) {
  std::vector<Recomputation> found;
  for (const OpId op : graph.ops()) {
    const std::uint32_t again = run.run_counts[op.index()] - 1;
    if (again > 0) found.push_back({op, again, graph.cost(op) * again});
  }
  std::sort(found.begin(), found.end(), [](const Recomputation& a, const Recomputation& b) {
    return std::tuple(b.cost, b.times, a.op) < std::tuple(a.cost, a.times, b.op);
  });
  return found;
}

std::vector<LiveInterval> longest_stays(const Graph& graph, const Simulation& run) {
  std::vector<LiveInterval> stays;
  std::copy_if(run.intervals.begin(), run.intervals.end(), std::back_inserter(stays),
               [&](const LiveInterval& stay) {
                 return length(stay) > 1 && !graph.output(stay.tensor) && graph.bytes(stay.tensor) > 0_B;
               });
  std::sort(stays.begin(), stays.end(), [&](const LiveInterval& a, const LiveInterval& b) {
    return std::tuple(length(b), graph.bytes(b.tensor), a.tensor, a.first) <
           std::tuple(length(a), graph.bytes(a.tensor), b.tensor, b.first);
  });
  return stays;
}

std::vector<LiveInterval> largest_at(const Graph& graph, const Simulation& run, std::size_t step) {
  std::vector<LiveInterval> there;
  std::copy_if(run.intervals.begin(), run.intervals.end(), std::back_inserter(there),
               [&](const LiveInterval& stay) { return stay.first <= step && step <= stay.last; });
  std::sort(there.begin(), there.end(), [&](const LiveInterval& a, const LiveInterval& b) {
    return std::tuple(graph.bytes(b.tensor), a.tensor) < std::tuple(graph.bytes(a.tensor), b.tensor);
  });
  return there;
}

/// The search at another budget, where `known` is a plan of this graph.
Result<SolveResult> solve_nearby(const Graph& graph, SolveOptions options, Bytes budget,
                                 const SolveResult& known, const std::stop_token& stop) {
  options.budget = budget;
  options.time_limit /= 3;
  options.start = known.plan->steps;
  Result<SolveResult> result = solve(graph, options, stop);
  if (result && *known.peak <= budget) take_over(*result, known, "the plan of another budget");
  return result;
}

PriceOfMemory::Neighbour neighbour(Bytes budget, const SolveResult& result) {
  return {.budget = budget, .status = result.status, .cost = result.cost, .detail = result.detail};
}

}  // namespace

Result<Explanation> explain(const Graph& graph, const Plan& plan) {
  CHECKMATE_TRY(const Simulation run, simulate(graph, plan));
  Explanation explanation{.recomputed_cost = run.cost - graph.keep_all_cost(),
                          .recomputed = recomputations(graph, run),
                          .kept = longest_stays(graph, run),
                          .peak = run.peak,
                          .peak_steps = {},
                          .at_peak = largest_at(graph, run, run.peak_step),
                          .peak_workspace = graph.workspace(plan.steps[run.peak_step])};
  for (std::uint32_t step = 0; step < run.memory.size(); ++step) {
    if (run.memory[step] == run.peak) explanation.peak_steps.push_back(step);
  }
  return explanation;
}

Result<PriceOfMemory> price_of_memory(const Graph& graph, const SolveOptions& options,
                                      const SolveResult& around, const std::stop_token& stop) {
  if (!around.plan) return Error{ErrorCode::kInvalidArgument, "memory has no price without a plan"};
  const Bytes budget = std::min(options.budget, Bytes{kLargestTotal});  // no graph needs more
  const Bytes step = budget >= 4_GiB ? 1_GiB : std::max(1_B, Bytes{budget.count() / 20});
  const Bytes below = std::max(1_B, budget - step);
  const Bytes above = budget + step;

  PriceOfMemory price{.step = step, .less = {.budget = below}, .more = {.budget = above}, .more_saves = {}};
  price.interrupted = stop.stop_requested();
  if (price.interrupted) return price;
  CHECKMATE_TRY(const SolveResult less, solve_nearby(graph, options, below, around, stop));
  const bool less_is_cheaper = less.plan && *less.cost < *around.cost;
  CHECKMATE_TRY(const SolveResult more,
                solve_nearby(graph, options, above, less_is_cheaper ? less : around, stop));

  price.less = neighbour(below, less);
  price.more = neighbour(above, more);
  price.more_saves = *around.cost - *more.cost;
  if (less.plan) price.less_costs = *less.cost - *around.cost;
  price.interrupted = stop.stop_requested();
  return price;
}

}  // namespace checkmate
