#include "solve/chain/chain_dp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "solve/chain/chain_model.h"
#include "solve/chain/chain_program.h"
#include "solve/chain/chain_sweeps.h"
#include "solve/common/candidates.h"
#include "solve/common/forward.h"
#include "solve/common/prune_recomputations.h"

namespace checkmate {
namespace {

/// Where fewer bytes cross than at its neighbours, one cut in each of `most` stretches of equally many ops;
/// all places where there are no more.
std::vector<OpId> cuts(const Graph& graph, std::uint32_t most) {
  const std::uint32_t size = forward_size(graph);
  std::vector<std::int64_t> crossing(size + std::size_t{1});
  const std::vector<std::uint32_t> last_use = last_forward_uses(graph);
  for (std::uint32_t op = 0; op < size; ++op) {
    for (const TensorId tensor : graph.outputs(OpId{op})) {
      crossing[op] += graph.bytes(tensor).count();
      crossing[last_use[op]] -= graph.bytes(tensor).count();
    }
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  std::vector<OpId> ends;
  const std::uint32_t stretches = std::min(most, size);
  for (std::uint64_t i = 0; i < stretches; ++i) {
    const auto begin = crossing.begin() + static_cast<std::ptrdiff_t>(i * size / stretches);
    const auto end = crossing.begin() + static_cast<std::ptrdiff_t>((i + 1) * size / stretches);
    ends.push_back(OpId{static_cast<std::uint32_t>(std::min_element(begin, end) - crossing.begin())});
  }
  return ends;
}

/// As many as a second or so allows.
std::uint32_t slots_for(std::uint32_t layers) {
  constexpr double kMostWork = 3e8;
  const double work = std::pow(layers, 3) / 3 + 1;
  return static_cast<std::uint32_t>(std::clamp(kMostWork / work, 64.0, 1024.0));
}

/// The program's schedules hold their memory but for rounding. So the largest that fits is found by
/// bisection, and some around it are tried as well.
void try_schedules(const SearchContext& search, const ChainModel& chain, const ChainProgram& program,
                   Candidates& candidates) {
  std::vector<std::uint32_t> memories;  // the least of each cost
  for (std::uint32_t memory = 0; memory <= program.slots(); ++memory) {
    if (program.fits(memory) && (memory == 0 || program.cost(memory) < program.cost(memory - 1)))
      memories.push_back(memory);
  }
  const auto fits = [&](std::size_t i) {
    return candidates.offer(run_schedule(search, chain, program.schedule(memories[i])));
  };
  constexpr std::size_t kAround = 8;
  std::size_t fitting = 0;
  for (std::size_t over = memories.size(); fitting < over && !search.stopped();) {
    const std::size_t middle = fitting + (over - fitting) / 2;
    if (fits(middle)) {
      fitting = middle + 1;
    } else {
      over = middle;
    }
  }
  for (std::size_t i = fitting; i < std::min(fitting + kAround, memories.size()) && !search.stopped(); ++i)
    fits(i);
}

void try_layers(const SearchContext& search, std::uint32_t most_layers, Candidates& candidates) {
  constexpr double kSlack = 1.1;  // the model may ask for more than the plan takes
  const Graph& graph = search.graph;
  const ChainModel chain(graph, cuts(graph, most_layers));
  const std::uint32_t slots = slots_for(chain.length());
  const auto room = static_cast<double>((search.options.budget - graph.fixed_bytes()).count());
  ChainProgram program(chain, std::max(room * kSlack / slots, 1.0), slots);
  if (program.run([&] { return search.stopped(); })) try_schedules(search, chain, program, candidates);
}

}  // namespace

/// Method `chain-dp`: the forward part as a chain of layers, whatever its shape (ChainModel), the cheapest
/// schedules of that chain by dynamic programming (ChainProgram), and of those the cheapest that the
/// simulator finds within the budget. Chains are cut into at most 192, 96 and 48 layers, with as many slots
/// of memory as keep layers^3 x slots near 1e9 each: about a second on any graph, plus O(ops x layers). On a
/// chain of equal layers, at most 192, nothing is rounded away. Proves nothing.
Outcome solve_chain_dp(const SearchContext& search) {
  // Many layers leave time for few slots, in which small values count for nothing.
  constexpr std::array<std::uint32_t, 3> kMostLayers = {192, 96, 48};
  const Graph& graph = search.graph;
  const std::uint32_t forward = forward_size(graph);
  if (forward == 0) return {.detail = "the graph has no forward part before a backward op to reverse"};
  Candidates candidates(search);
  if (candidates.offer(keep_all_plan(graph).steps)) return std::move(candidates).outcome();
  for (const std::uint32_t most : kMostLayers) {
    try_layers(search, most, candidates);
    if (forward <= most / 2) break;
  }
  Outcome outcome = std::move(candidates).outcome();
  // What rounding and whole layers leave over still saves single runs.
  constexpr std::size_t kQuicklyFilled = 4'000'000;
  if (outcome.steps && (outcome.steps->size() - graph.op_count()) * outcome.steps->size() <= kQuicklyFilled)
    outcome.steps = prune_recomputations(search, std::move(*outcome.steps));
  return outcome;
}

}  // namespace checkmate
