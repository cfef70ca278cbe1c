#include "solve/least_budget/set_bracket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/validate.h"
#include "solve/brute/brute.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::Features;
using ::testing::HasSubstr;
using testing::random_graph;
using testing::share_of;

constexpr std::size_t kPlenty = 100'000;
constexpr std::uint64_t kSeeds = 2000;

SetBracket find(const Graph& graph, std::size_t most_states = kPlenty, Order order = Order::kFixed,
                std::optional<Bytes> enough = std::nullopt) {
  const SolveOptions options{.budget = Bytes{1}, .order = order};
  return bracket_by_sets(SearchContext(graph, options, {}), most_states, enough);
}

/// By exhaustive search; nothing where the graph has too many states for that.
std::optional<Bytes> least_by_force(const Graph& graph, Order order) {
  const SolveOptions options{.budget = Bytes{-1}, .order = order};
  return solve_brute(SearchContext(graph, options, {})).needed;
}

class SetBracketOfAnyOrder : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Solve, SetBracketOfAnyOrder, ::testing::Values(Order::kFixed, Order::kFree),
                         [](const auto& order) { return std::string(to_string(order.param)); });

TEST_P(SetBracketOfAnyOrder, IsWhatBruteForceFindsWhereAllOpsAreRecomputable) {
  Features features = Features::all();
  features.run_once = false;
  for (std::uint64_t seed = 0; seed < share_of(kSeeds); ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 3 + seed % 6, seed % 3 == 0 ? Features{} : features);
    const SetBracket least = find(graph, kPlenty, GetParam());
    EXPECT_TRUE(least.exact);
    EXPECT_EQ(least.sufficient, least.needed);
    EXPECT_EQ(least.needed, *least_by_force(graph, GetParam()));
  }
}

TEST_P(SetBracketOfAnyOrder, IsNeverAboveWhatBruteForceFinds) {
  for (std::uint64_t seed = 0; seed < share_of(kSeeds); ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 3 + seed % 6, Features::all());
    const Bytes truth = *least_by_force(graph, GetParam());
    for (const std::size_t states : {std::size_t{1}, std::size_t{10}, kPlenty}) {
      const SetBracket least = find(graph, states, GetParam());
      EXPECT_LE(least.needed, truth);
      EXPECT_GE(least.needed, graph.fixed_bytes() + structural_minimum(graph).bytes);
      EXPECT_TRUE(!least.sufficient || *least.sufficient >= truth);
      EXPECT_EQ(least.exact, least.sufficient == least.needed);
    }
  }
}

TEST_P(SetBracketOfAnyOrder, HasPlansThatKeepTheOrderAndFit) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 3 + seed % 6, Features::all());
    const SetBracket least = find(graph, kPlenty, GetParam());
    if (!least.steps) continue;
    ++plans;
    EXPECT_TRUE(
        validate(graph, *plan_from_steps(graph, *least.steps), least.sufficient.value(), GetParam()).empty());
  }
  EXPECT_GT(plans, 200U);
}

TEST_P(SetBracketOfAnyOrder, HasAPlanWhereverAllOpsMayRunAgain) {
  Features features = Features::all();
  features.run_once = false;
  features.an_output_in = 2;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const SetBracket least = find(random_graph(seed, 3 + seed % 12, features), kPlenty, GetParam());
    EXPECT_EQ(least.steps.has_value(), least.sufficient.has_value());
  }
}

TEST(SetBracket, StopsAsSoonAsEnoughIsDecided) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Features features = Features::all();
    features.run_once = false;
    const Graph graph = random_graph(seed, 3 + seed % 6, features);
    const Bytes truth = *least_by_force(graph, Order::kFixed);
    for (const std::int64_t around : {-2, -1, 0, 1, 3}) {
      const Bytes enough = truth + Bytes{around};
      const SetBracket least = find(graph, kPlenty, Order::kFixed, enough);
      EXPECT_LE(least.needed, truth);
      EXPECT_GE(least.sufficient.value_or(truth), truth);
      EXPECT_TRUE(around < 0 ? least.needed > enough : least.sufficient.value() <= enough);
    }
  }
}

TEST(SetBracket, IsMoreThanTheLargestOpWhereValuesMeet) {
  // No op needs more than 4, but b is made from x beside a.
  const SetBracket least = find(testing::fork());
  EXPECT_EQ(least.needed, Bytes{6});
  EXPECT_TRUE(least.exact);
}

TEST(SetBracket, KeepsWhatRunsOnceWhileItIsNeeded) {
  // once -> x -> y, and v(once, y), bytes (5, 4, 4, 1): running x and then y meets `once`, which cannot be
  // made again for v: 5 + 4 + 4 = 13. Where it can, v with its inputs is the most: 5 + 4 + 1 = 10.
  for (const bool again : {false, true}) {
    GraphBuilder b("once");
    const auto add = [&](std::vector<TensorId> inputs, std::int64_t bytes, bool recomputable = true) {
      return b.add_op_with_output({.name = "",
                                   .cost = Cost{1},
                                   .inputs = std::move(inputs),
                                   .outputs = {},
                                   .recomputable = recomputable},
                                  Bytes{bytes});
    };
    const TensorId once = add({}, 5, again);
    const TensorId x = add({once}, 4);
    const TensorId y = add({x}, 4);
    add({once, y}, 1);
    const SetBracket least = find(std::move(b).build().value());
    EXPECT_EQ(least.needed, Bytes{again ? 10 : 13});
    EXPECT_TRUE(least.exact);
  }
}

TEST(SetBracket, HoldsAllOutputsAtTheEnd) {
  // Two gradients of 10 bytes from one value of 3: 10 + 10 + 3 while the second is made.
  GraphBuilder b("outputs");
  const TensorId x =
      b.add_op_with_output({.name = "x", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{3});
  for (const char* name : {"a", "b"}) {
    const TensorId gradient = b.add_tensor({.name = name, .bytes = Bytes{10}, .output = true});
    b.add_op({.name = name, .cost = Cost{1}, .inputs = {x}, .outputs = {gradient}});
  }
  const SetBracket least = find(std::move(b).build().value());
  EXPECT_EQ(least.needed, Bytes{23});
  EXPECT_TRUE(least.exact);
}

TEST(SetBracket, OfThePapersNetworksIsTheirLargestOp) {
  for (const char* network : {"vgg16", "vgg19", "unet", "segnet", "fcn8", "mobilenet"}) {
    SCOPED_TRACE(network);
    const Graph graph = zoo::build(network).value();
    const SetBracket least = find(graph);
    EXPECT_TRUE(least.exact);
    EXPECT_EQ(least.needed, graph.fixed_bytes() + structural_minimum(graph).bytes);
    EXPECT_THAT(least.detail, HasSubstr("alone needs"));
  }
}

TEST(SetBracket, OfResNet50IsFiveOfItsLargestValues) {
  // Its largest op needs four and a half. Values that meet in twos need four and three quarters, which is
  // found with few states; in threes five, and that is enough.
  const Graph graph = zoo::build("resnet50").value();
  const Bytes largest = Bytes{56} * 56 * 256 * 4;
  EXPECT_EQ(structural_minimum(graph).bytes, Bytes{largest.count() / 2 * 9});
  EXPECT_EQ(find(graph, 10'000).needed, graph.fixed_bytes() + Bytes{largest.count() / 4 * 19});
  const SetBracket least = find(graph, 500'000);
  EXPECT_EQ(least.needed, graph.fixed_bytes() + largest * 5);
  EXPECT_TRUE(least.exact);
  ASSERT_TRUE(least.steps);
  EXPECT_EQ(simulate(graph, *plan_from_steps(graph, *least.steps))->peak, least.needed);
}

TEST(SetBracket, NeverStartsWhenStopped) {
  std::stop_source stop;
  stop.request_stop();
  const Graph graph = testing::chain(3000);
  const SolveOptions options{.budget = Bytes{1}};
  const SetBracket least = bracket_by_sets(SearchContext(graph, options, stop.get_token()), kPlenty);
  EXPECT_EQ(least.needed, Bytes{4});  // a gradient of an inner layer: three inputs and itself
  EXPECT_FALSE(least.sufficient);
}

}  // namespace
}  // namespace checkmate
