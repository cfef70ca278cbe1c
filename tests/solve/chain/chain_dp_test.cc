#include "solve/chain/chain_dp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/validate.h"
#include "solve/baselines/checkpoints.h"
#include "solve/brute/brute.h"
#include "solve/chain/chain_model.h"
#include "solve/common/solver.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::Features;
using ::testing::HasSubstr;
using testing::random_budget;
using testing::random_graph;

struct Found {
  std::optional<Cost> cost;
  Outcome outcome;
};

/// Whatever it finds is valid and fits.
Found find(const Graph& graph, Bytes budget, Outcome (*method)(const SearchContext&) = solve_chain_dp) {
  const SolveOptions options{.budget = budget};
  Found found{.cost = {}, .outcome = method(SearchContext(graph, options, {}))};
  if (!found.outcome.steps) return found;
  const Plan plan = *plan_from_steps(graph, *found.outcome.steps);
  EXPECT_TRUE(validate(graph, plan, budget).empty());
  found.cost = simulate(graph, plan)->cost;
  return found;
}

TEST(ChainModel, MeasuresAChainOfEqualLayers) {
  // Layers 1 to 4 and the loss, one op each. Boundary k is the value of layer k.
  const Graph graph = testing::chain(4);
  std::vector<OpId> ends;
  for (std::uint32_t op = 0; op < 5; ++op) ends.push_back(OpId{op});
  const ChainModel chain(graph, ends);
  EXPECT_EQ(chain.length(), 5U);
  EXPECT_EQ(chain.boundary(0, 3), 1);
  EXPECT_EQ(chain.boundary(3, 4), 1);
  EXPECT_EQ(chain.sweep(1, 1), 1);
  EXPECT_EQ(chain.sweep(1, 3), 2);  // a layer's input and its output
  EXPECT_EQ(chain.kept(2), 1);
  EXPECT_EQ(chain.gradients(5), 0);
  EXPECT_EQ(chain.gradients(4), 1);
  EXPECT_EQ(chain.reverse_peak(3), 3);  // its value, the gradient after it and the one before
  EXPECT_TRUE(chain.boundary_is_enough(3));
  EXPECT_EQ(chain.of(OpId{6}), 4U);  // layer3_grad reads layers 3 and 4
}

TEST(ChainModel, CountsWhatCrossesABoundaryOnce) {
  // Op i reads i-1 and i-2: two values cross each boundary, one of them the boundary before as well.
  const Graph graph = testing::skip_chain(5);
  std::vector<OpId> ends;
  for (std::uint32_t op = 0; op < 5; ++op) ends.push_back(OpId{op});
  const ChainModel chain(graph, ends);
  EXPECT_EQ(chain.boundary(0, 3), 2);
  EXPECT_EQ(chain.boundary(2, 3), 1);
  EXPECT_EQ(chain.boundary(1, 3), 2);
  EXPECT_THAT(chain.crossing(3), ::testing::SizeIs(2));
}

TEST(ChainDp, IsAsGoodAsTheBestKnownOnAChainOf32Layers) {
  const Graph graph = testing::chain(32);
  // 65 runs are the least: 32 layers, the loss, 32 gradients.
  EXPECT_EQ(find(graph, Bytes{6}).cost, Cost{127});
  EXPECT_EQ(find(graph, Bytes{8}).cost, Cost{102});
  EXPECT_EQ(find(graph, Bytes{10}).cost, Cost{89});
  EXPECT_EQ(find(graph, Bytes{12}).cost, Cost{87});
  EXPECT_EQ(find(graph, Bytes{34}).cost, Cost{65});
}

TEST(ChainDp, IsOptimalOnShortChains) {
  for (int layers = 2; layers <= 8; ++layers) {
    const Graph graph = testing::chain(layers);
    for (std::int64_t budget = 4; budget <= layers + 2; ++budget) {
      SCOPED_TRACE(::testing::Message() << layers << " layers, budget " << budget);
      EXPECT_EQ(find(graph, Bytes{budget}).cost, find(graph, Bytes{budget}, solve_brute).cost);
    }
  }
}

TEST(ChainDp, FindsValidPlansOfAnyGraph) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Features features = seed % 2 == 0 ? Features::all() : Features{};
    features.phases = true;
    const Graph graph = random_graph(seed, 3 + below(random, 5), features);
    const Bytes budget = random_budget(graph, random);
    const Found found = find(graph, budget);
    if (!found.cost) continue;
    ++plans;
    EXPECT_GE(*found.cost, *find(graph, budget, solve_brute).cost);
  }
  EXPECT_GT(plans, 400U);
}

TEST(ChainDp, BeatsGreedySegmentsOnThePapersNetworks) {
  for (const char* network : {"vgg19", "mobilenet", "resnet50", "unet", "segnet", "fcn8"}) {
    SCOPED_TRACE(network);
    const Graph graph = zoo::build(network).value();
    const Bytes budget = graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() / 100 * 85};
    const std::optional<Cost> greedy = find(graph, budget, solve_linear_greedy).cost;
    const std::optional<Cost> programmed = find(graph, budget).cost;
    ASSERT_TRUE(greedy && programmed);
    EXPECT_LT(*programmed, *greedy);
  }
}

TEST(ChainDp, TakesChainsOfThousands) {
  const Graph graph = testing::chain(3000);
  const Found found = find(graph, Bytes{200});
  ASSERT_TRUE(found.cost);
  // Segments of sqrt(3000) run every layer but the last segment's again, at most once more.
  EXPECT_LT(*found.cost, graph.keep_all_cost() + Cost{3000});
}

TEST(ChainDp, KeepsEverythingWhenThereIsRoom) {
  for (const Graph& graph : {testing::chain(6), testing::skip_chain(8), testing::full_featured()})
    EXPECT_EQ(find(graph, graph.fixed_bytes() + keep_all_peak(graph)).cost, graph.keep_all_cost());
}

TEST(ChainDp, SaysWhyItHasNoPlan) {
  EXPECT_THAT(find(testing::diamond(), Bytes{100}).outcome.detail, HasSubstr("no forward part"));
  EXPECT_THAT(find(testing::chain(32), Bytes{3}).outcome.detail, HasSubstr("smallest peak"));
  std::stop_source stop;
  stop.request_stop();
  const SolveOptions options{.budget = Bytes{100}};
  const Graph graph = testing::chain(3000);
  EXPECT_THAT(solve_chain_dp(SearchContext(graph, options, stop.get_token())).detail,
              HasSubstr("smallest peak"));
}

}  // namespace
}  // namespace checkmate
