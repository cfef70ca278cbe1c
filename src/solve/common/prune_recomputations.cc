#include "solve/common/prune_recomputations.h"

#include <algorithm>

#include "checkmate/simulate.h"

namespace checkmate {
namespace {

constexpr std::size_t kNowhere = SIZE_MAX;

/// Which runs are first runs.
std::vector<bool> first_runs(const Graph& graph, const std::vector<OpId>& steps) {
  std::vector<bool> ran(graph.op_count());
  std::vector<bool> first(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    first[step] = !ran[steps[step].index()];
    ran[steps[step].index()] = true;
  }
  return first;
}

/// The steps without one of them, and without the recomputations that then make nothing that is used:
/// backwards in time, a run that no later step needs is left out, and needs nothing itself.
std::vector<OpId> without(const Graph& graph, const std::vector<OpId>& steps, const std::vector<bool>& first,
                          std::size_t left_out) {
  std::vector<bool> needed(graph.tensor_count());
  for (const TensorId tensor : graph.tensors()) needed[tensor.index()] = graph.output(tensor);
  std::vector<OpId> kept;
  for (std::size_t step = steps.size(); step-- > 0;) {
    const auto outputs = graph.outputs(steps[step]);
    const bool used =
        std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) { return needed[t.index()]; });
    if (step == left_out || (!first[step] && !used)) continue;
    for (const TensorId tensor : outputs) needed[tensor.index()] = false;
    for (const TensorId tensor : graph.inputs(steps[step])) needed[tensor.index()] = true;
    kept.push_back(steps[step]);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

/// Where a recomputation stands now, by its op and how many of the op's runs come before it.
struct Recomputation {
  OpId op;
  std::size_t occurrence;
};

std::size_t place_of(const std::vector<OpId>& steps, const Recomputation& wanted) {
  std::size_t seen = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (steps[step] == wanted.op && seen++ == wanted.occurrence) return step;
  }
  return kNowhere;
}

}  // namespace

std::vector<OpId> prune_recomputations(const SearchContext& search, std::vector<OpId> steps) {
  const Graph& graph = search.graph;
  std::vector<Recomputation> recomputations;
  std::vector<std::size_t> runs(graph.op_count());
  for (const OpId op : steps) {
    if (const std::size_t before = runs[op.index()]++; before > 0) recomputations.push_back({op, before});
  }
  std::stable_sort(recomputations.begin(), recomputations.end(),
                   [&](const Recomputation& a, const Recomputation& b) {
                     return graph.cost(a.op) != graph.cost(b.op) ? graph.cost(a.op) > graph.cost(b.op)
                                                                 : a.occurrence > b.occurrence;
                   });
  for (const Recomputation& recomputation : recomputations) {
    if (search.stopped()) break;
    const std::size_t place = place_of(steps, recomputation);
    if (place == kNowhere) continue;
    std::vector<OpId> fewer = without(graph, steps, first_runs(graph, steps), place);
    const Result<Simulation> run = simulate(graph, *plan_from_steps(graph, fewer));
    if (run && run->peak <= search.options.budget) steps = std::move(fewer);
  }
  return steps;
}

}  // namespace checkmate
