#include "checkmate/planner.h"

#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;

SolveOptions options(Bytes budget) {
  SolveOptions options{.budget = budget};
  options.moves = 2000;
  return options;
}

TEST(Planner, KeepsABoundForSmallerBudgetsOnly) {
  const Graph graph = testing::late_use();
  Planner planner(graph, options(Bytes{40}));
  EXPECT_EQ(planner.lower_bound(), Cost{4});  // each op once
  EXPECT_EQ(planner.solve()->cost, Cost{5});  // x again
  EXPECT_EQ(planner.lower_bound(), Cost{5});
  planner.set_budget(Bytes{39});
  EXPECT_EQ(planner.lower_bound(), Cost{5});
  planner.set_budget(Bytes{50});
  EXPECT_EQ(planner.lower_bound(), Cost{4});
}

TEST(Planner, ScalesABoundWithTheCosts) {
  Planner planner(testing::late_use(), options(Bytes{40}));
  ASSERT_TRUE(planner.solve());
  // Each op costs at least twice what it did, so what is recomputed costs at least 2 x 1: 2 + 9 + 2 + 2 + 2.
  ASSERT_TRUE(planner.set_costs(std::vector{Cost{2}, Cost{9}, Cost{2}, Cost{2}}, "ns"));
  EXPECT_EQ(planner.lower_bound(), Cost{17});
  const SolveResult result = planner.solve().value();
  EXPECT_EQ(result.cost, Cost{17});
  EXPECT_EQ(result.status, Status::kOptimal);
  EXPECT_EQ(result.stop_reason, StopReason::kGapClosed);
  EXPECT_FALSE(planner.set_costs(std::vector{Cost{1}}, "ns"));
  EXPECT_EQ(planner.lower_bound(), Cost{17});
}

TEST(Planner, KnowsThatSmallerBudgetsAreInfeasibleToo) {
  Planner planner(testing::fork(), options(Bytes{5}));
  EXPECT_EQ(planner.solve()->status, Status::kInfeasible);
  ASSERT_TRUE(planner.set_costs(std::vector(4, Cost{9}), "ns"));
  planner.set_budget(Bytes{4});
  const SolveResult result = planner.solve().value();
  EXPECT_EQ(result.status, Status::kInfeasible);
  EXPECT_EQ(result.needed, Bytes{6});
  planner.set_budget(Bytes{6});
  EXPECT_TRUE(planner.solve()->plan);
}

TEST(Planner, ItsBoundsAndPlansHoldAfterEveryChange) {
  for (std::uint64_t seed = 0; seed < testing::share_of(150); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph first = testing::random_graph(seed, 4 + seed % 5, testing::Features::all());
    Planner planner(first, options(testing::random_budget(first, random)));
    for (int change = 0; change < 6; ++change) {
      if (below(random, 2) == 0) {
        planner.set_budget(testing::random_budget(first, random));
      } else {
        std::vector<Cost> costs;
        for (const OpId op : first.ops()) {
          const auto noise = static_cast<std::int64_t>(below(random, 6)) - 1;
          costs.push_back(planner.graph().cost(op) * 2 + Cost{noise});
        }
        for (Cost& cost : costs) cost = std::max(cost, Cost{0});
        ASSERT_TRUE(planner.set_costs(costs, "ns"));
      }
      const SolveResult best = testing::solved(planner.graph(), "brute", planner.budget());
      EXPECT_TRUE(!best.plan || planner.lower_bound() <= *best.cost);
      const SolveResult result = planner.solve().value();
      EXPECT_TRUE(result.status != Status::kInfeasible || best.status == Status::kInfeasible);
      if (!result.plan) continue;
      EXPECT_TRUE(validate(planner.graph(), *result.plan, planner.budget()).empty());
      EXPECT_EQ(simulate(planner.graph(), *result.plan)->cost, result.cost);
      EXPECT_GE(*result.cost, *best.cost);
      EXPECT_LE(result.lower_bound, *best.cost);
      EXPECT_TRUE(result.status != Status::kOptimal || result.cost == best.cost);
    }
  }
}

}  // namespace
}  // namespace checkmate
