#include "solve/chain/chain_bound.h"

#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "solve/brute/brute.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::Features;
using testing::random_graph;
using testing::share_of;

std::optional<Cost> bound(const Graph& graph, Bytes budget, std::size_t most_states = 100'000) {
  const SolveOptions options{.budget = budget};
  return chain_bound(SearchContext(graph, options, {}), most_states);
}

/// The cost of the cheapest plan; nothing where there is none.
std::optional<Cost> cheapest(const Graph& graph, Bytes budget, Order order) {
  const SolveOptions options{.budget = budget, .order = order};
  const Outcome outcome = solve_brute(SearchContext(graph, options, {}));
  if (!outcome.steps) return std::nullopt;
  return simulate(graph, *plan_from_steps(graph, *outcome.steps))->cost;
}

/// Layers, loss, and gradients that read the gradient before and some layers, the later gradients mostly the
/// earlier layers. Sizes are below `sizes`; with 1, they are all 1.
Graph random_chain(std::uint64_t seed, std::size_t layers, std::uint64_t sizes) {
  std::mt19937_64 random(seed);
  GraphBuilder b("chain");
  const auto amount = [&](std::uint64_t most) { return static_cast<std::int64_t>(below(random, most)); };
  const auto bytes = [&] { return Bytes{sizes == 1 ? 1 : amount(sizes)}; };
  std::vector<TensorId> values;
  for (std::size_t i = 0; i <= layers; ++i) {
    std::vector<TensorId> inputs;
    if (i > 0) inputs.push_back(values.back());
    values.push_back(b.add_op_with_output({.name = "f" + std::to_string(i),
                                           .cost = Cost{amount(6)},
                                           .inputs = inputs,
                                           .outputs = {},
                                           .workspace = Bytes{sizes == 1 ? 0 : amount(3)}},
                                          bytes()));
  }
  TensorId gradient = values.back();
  for (std::size_t i = layers; i-- > 0;) {
    std::vector<TensorId> inputs = {gradient};
    for (std::size_t k = 0; k < layers; ++k) {
      const std::size_t distance = k > i ? k - i : i - k;
      if (below(random, 1 + 3 * distance * distance) == 0) inputs.push_back(values[k]);
    }
    gradient = b.add_op_with_output({.name = "g" + std::to_string(i),
                                     .cost = Cost{amount(6)},
                                     .inputs = inputs,
                                     .outputs = {},
                                     .phase = Phase::kBackward},
                                    bytes());
  }
  return std::move(b).build().value();
}

TEST(ChainBound, IsNeverAboveTheOptimum) {
  std::size_t tight = 0;
  std::size_t dearer = 0;
  for (std::uint64_t seed = 0; seed < share_of(1500); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = random_chain(seed, 2 + below(random, 5), seed % 3 == 0 ? 1 : 2 + below(random, 5));
    const std::int64_t least = structural_minimum(graph).bytes.count();
    const std::int64_t most = keep_all_peak(graph).count();
    const Bytes budget{
        least + static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(most - least + 1)))};
    for (const Order order : {Order::kFixed, Order::kFree}) {
      const std::optional<Cost> optimum = cheapest(graph, budget, order);
      if (!optimum) continue;
      for (const std::size_t states : {std::size_t{1}, std::size_t{20}, std::size_t{100'000}}) {
        const std::optional<Cost> proven = bound(graph, budget, states);
        ASSERT_TRUE(proven);
        EXPECT_LE(*proven, *optimum);
        EXPECT_GE(*proven, graph.keep_all_cost());
      }
      dearer += *optimum > graph.keep_all_cost() ? 1 : 0;
      tight += *optimum > graph.keep_all_cost() && bound(graph, budget) == optimum ? 1 : 0;
    }
  }
  EXPECT_GT(dearer, share_of(500));
  EXPECT_GT(tight, dearer / 2);
}

TEST(ChainBound, IsTheOptimumWhereAllSizesAreOne) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_chain(seed, 2 + seed % 5, 1);
    for (std::int64_t budget = structural_minimum(graph).bytes.count();
         budget <= keep_all_peak(graph).count(); ++budget) {
      const std::optional<Cost> optimum = cheapest(graph, Bytes{budget}, Order::kFixed);
      if (!optimum) continue;
      EXPECT_EQ(bound(graph, Bytes{budget}), optimum) << budget;
    }
  }
}

TEST(ChainBound, ProvesThatTheChainProgramIsOptimalOn32Layers) {
  // What chain-dp finds; 65 runs are the least. Eight bytes take 2 s: not here.
  const Graph graph = testing::chain(32);
  EXPECT_EQ(bound(graph, Bytes{6}), Cost{127});
  EXPECT_EQ(bound(graph, Bytes{10}), Cost{89});
  EXPECT_EQ(bound(graph, Bytes{12}), Cost{87});
  EXPECT_EQ(bound(graph, Bytes{34}), Cost{65});
}

TEST(ChainBound, LeavesOtherGraphsAlone) {
  EXPECT_FALSE(bound(testing::diamond(), Bytes{40}));
  EXPECT_FALSE(bound(testing::skip_chain(5), Bytes{5}));
  EXPECT_FALSE(bound(testing::full_featured(), Bytes{2000}));
  EXPECT_FALSE(bound(testing::chain(100), Bytes{50}));
  for (std::uint64_t seed = 0; seed < share_of(2000); ++seed) {
    const Graph graph = random_graph(seed, 2 + seed % 6, Features::all());
    const Bytes budget = graph.fixed_bytes() + structural_minimum(graph).bytes + Bytes{1};
    const std::optional<Cost> proven = bound(graph, budget);
    const std::optional<Cost> optimum = cheapest(graph, budget, Order::kFree);
    EXPECT_TRUE(!proven || !optimum || *proven <= *optimum) << seed;
  }
}

TEST(ChainBound, EndsWhenStopped) {
  std::stop_source stop;
  stop.request_stop();
  const SolveOptions options{.budget = Bytes{6}};
  const Graph graph = testing::chain(32);
  const std::optional<Cost> proven = chain_bound(SearchContext(graph, options, stop.get_token()));
  ASSERT_TRUE(proven);
  EXPECT_GE(*proven, graph.keep_all_cost());
  EXPECT_LE(*proven, Cost{127});
}

}  // namespace
}  // namespace checkmate
