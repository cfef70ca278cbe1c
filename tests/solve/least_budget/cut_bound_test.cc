#include "solve/least_budget/cut_bound.h"

#include <gtest/gtest.h>

#include "solve/brute/brute.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::Features;
using testing::random_graph;
using testing::share_of;

Bytes bound_of(const Graph& graph, Order order = Order::kFixed, std::optional<Bytes> enough = std::nullopt) {
  const SolveOptions options{.budget = Bytes{1}, .order = order};
  const Bytes structural = graph.fixed_bytes() + structural_minimum(graph).bytes;
  const Bytes keep_all = graph.fixed_bytes() + keep_all_peak(graph);
  return cut_bound(SearchContext(graph, options, {}), structural, enough.value_or(keep_all));
}

/// `gradients` gradients of 10 bytes, each made from a value of 3 that is made with a workspace.
Graph gradients(int count, std::int64_t workspace) {
  GraphBuilder b("gradients");
  for (int i = 0; i < count; ++i) {
    const TensorId x = b.add_tensor({.name = "x", .bytes = Bytes{3}});
    b.add_op({.name = "x", .cost = Cost{1}, .inputs = {}, .outputs = {x}, .workspace = Bytes{workspace}});
    const TensorId gradient = b.add_tensor({.name = "gradient", .bytes = Bytes{10}, .output = true});
    b.add_op({.name = "gradient", .cost = Cost{1}, .inputs = {x}, .outputs = {gradient}});
  }
  return std::move(b).build().value();
}

TEST(CutBound, CountsTheOutputsThatAreThereWhenTheLastIsMade) {
  // Three others, the last gradient and its input: 3 x 10 + 10 + 3.
  EXPECT_EQ(bound_of(gradients(4, 0)), Bytes{43});
}

TEST(CutBound, CountsWhatALargeOpLeavesForTheOutputs) {
  // Whichever x is made last, with 20 bytes of workspace, meets for each other gradient the gradient itself
  // or the x of 3 bytes that it is made from: 20 + 3 + 3 x 3. No more than when the last gradient is made,
  // 43; with a workspace of 40 it is 52.
  EXPECT_EQ(bound_of(gradients(4, 20)), Bytes{43});
  EXPECT_EQ(bound_of(gradients(4, 40)), Bytes{52});
}

TEST(CutBound, SaysNothingNewWithoutOutputs) {
  const Graph graph = testing::fork();
  EXPECT_EQ(bound_of(graph), graph.fixed_bytes() + structural_minimum(graph).bytes);
}

TEST(CutBound, ProvesNoMoreThanIsAskedFor) {
  const Graph graph = gradients(4, 40);
  EXPECT_EQ(bound_of(graph, Order::kFixed, Bytes{48}), Bytes{48});
}

class CutBoundOfAnyOrder : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Solve, CutBoundOfAnyOrder, ::testing::Values(Order::kFixed, Order::kFree),
                         [](const auto& order) { return std::string(to_string(order.param)); });

TEST_P(CutBoundOfAnyOrder, IsNeverAboveWhatBruteForceFinds) {
  constexpr std::uint64_t kSeeds = 2000;
  std::size_t exact = 0;
  for (std::uint64_t seed = 0; seed < share_of(kSeeds); ++seed) {
    SCOPED_TRACE(seed);
    Features features = Features::all();
    features.an_output_in = 2;
    const Graph graph = random_graph(seed, 3 + seed % 5, features);
    const SolveOptions options{.budget = Bytes{-1}, .order = GetParam()};
    const Bytes truth = *solve_brute(SearchContext(graph, options, {})).needed;
    EXPECT_LE(bound_of(graph, GetParam()), truth);
    exact += bound_of(graph, GetParam()) == truth ? 1 : 0;
  }
  EXPECT_GT(exact, share_of(kSeeds) / 2);
}

}  // namespace
}  // namespace checkmate
