#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/graphs.h"

// An output has to stay only from its last run to the end. Where memory is short it is made early, because
// the order says so, dropped, and made again.
namespace checkmate {
namespace {

using testing::Features;
using testing::random_graph;

SolveResult solve_with(std::string_view method, const Graph& graph, Bytes budget, std::uint64_t moves) {
  SolveOptions options{.budget = budget};
  options.method = method;
  options.moves = moves;
  options.threads = 1;
  return solve(graph, options).value();
}

Graph with_many_outputs(std::uint64_t seed, std::size_t ops, int most_made = 2) {
  Features features = Features::all();
  features.several_outputs = most_made > 1;
  features.run_once = seed % 3 == 0;
  features.an_output_in = 2 + seed % 2;
  return random_graph(seed, ops, features);
}

/// The smaller of two random budgets.
Bytes tight_budget(const Graph& graph, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return std::min(testing::random_budget(graph, random), testing::random_budget(graph, random));
}

TEST(Outputs, OfEarlyGradientsAreDroppedAndMadeAgain) {
  const Graph graph = testing::weight_gradients();
  const Bytes budget = parse_budget(graph, "95%").value();
  // The only plan that fits costs layer3_grad_weight and, for it, layer2 once more.
  const Cost optimum = graph.keep_all_cost() + Cost{192440} + Cost{6456};
  const SolveResult proven = solve_with("auto", graph, budget, 20'000);
  EXPECT_EQ(proven.status, Status::kOptimal);
  EXPECT_EQ(proven.cost, optimum);
  const SolveResult annealed = solve_with("anneal", graph, budget, 20'000);
  ASSERT_TRUE(annealed.plan);
  EXPECT_EQ(annealed.cost, optimum);
}

TEST(Outputs, ThatMayBeMadeAgainAreNoReasonForBoundsAboveBruteForce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = with_many_outputs(seed, 3 + seed % 6);
    const Bytes budget = tight_budget(graph, seed);
    const SolveResult truth = solve_with("brute", graph, budget, 0);
    ASSERT_NE(truth.status, Status::kUnknown);
    for (const std::string_view method : {"knapsack-bound", "sparse-milp", "anneal"}) {
      SCOPED_TRACE(method);
      const SolveResult result = solve_with(method, graph, budget, 500);
      EXPECT_TRUE(truth.plan || !result.plan);
      if (!truth.plan) continue;
      EXPECT_NE(result.status, Status::kInfeasible);
      EXPECT_LE(result.lower_bound, truth.cost);
      EXPECT_TRUE(!result.plan || result.cost >= truth.cost);
    }
  }
}

TEST(Outputs, AutoFindsAPlanWheneverBruteForceDoes) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = with_many_outputs(seed, 13, 1);  // up to 12 ops brute force comes first
    const Bytes budget = tight_budget(graph, seed);
    const SolveResult truth = solve_with("brute", graph, budget, 0);
    const SolveResult found = solve_with("auto", graph, budget, 5'000);
    EXPECT_EQ(found.plan.has_value(), truth.plan.has_value());
    plans += truth.plan ? 1 : 0;
  }
  EXPECT_GT(plans, 10U);
}

/// Most of these plans are in the class that annealing searches: any recomputations before each first run and
/// after the last, in index order.
TEST(Outputs, AnnealingFindsNearlyAllPlans) {
  std::size_t plans = 0;
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = with_many_outputs(seed, 4 + seed % 5);
    const Bytes budget = tight_budget(graph, seed);
    if (!solve_with("brute", graph, budget, 0).plan) continue;
    ++plans;
    found += solve_with("anneal", graph, budget, 2'000).plan ? 1 : 0;
  }
  EXPECT_GE(found * 100, plans * 90);
}

}  // namespace
}  // namespace checkmate
