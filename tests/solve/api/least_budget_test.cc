#include "checkmate/least_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

LeastBudget least_of(const Graph& graph, LeastBudgetOptions options = {}) {
  return least_budget(graph, options).value();
}

TEST(LeastBudget, IsExactWhereProofAndPlanMeet) {
  for (const Order order : {Order::kFixed, Order::kFree}) {
    const LeastBudget least = least_of(testing::fork(), {.order = order});
    EXPECT_EQ(least.needed, Bytes{6});
    EXPECT_EQ(least.sufficient, Bytes{6});
    EXPECT_TRUE(least.exact());
    EXPECT_EQ(simulate(testing::fork(), least.plan)->peak, Bytes{6});
  }
}

TEST(LeastBudget, KnowsWhatTheOutputsOfAStepNeed) {
  const Graph graph = testing::weight_gradients();
  const LeastBudget least = least_of(graph, {.time_limit = 2s, .threads = 2});
  EXPECT_GT(least.needed, graph.fixed_bytes() + structural_minimum(graph).bytes);
  EXPECT_LT(least.sufficient, graph.fixed_bytes() + keep_all_peak(graph));
  EXPECT_TRUE(validate(graph, least.plan, least.sufficient, Order::kFixed).empty());
  EXPECT_EQ(simulate(graph, least.plan)->cost, least.cost);
}

TEST(LeastBudget, BeginsWithThePlanThatItIsGiven) {
  using namespace testing::diamond_ops;
  const LeastBudget least = least_of(testing::late_use(), {.start = {kX, kA, kB, kX, kY}});
  EXPECT_EQ(least.sufficient, Bytes{40});
  EXPECT_EQ(least.method, "start");
}

TEST(LeastBudget, IsKeepAllWhenStoppedAtOnce) {
  std::stop_source stop;
  stop.request_stop();
  const Graph graph = testing::chain(50);
  const LeastBudget least = least_budget(graph, {}, stop.get_token()).value();
  EXPECT_EQ(least.sufficient, graph.fixed_bytes() + keep_all_peak(graph));
  EXPECT_EQ(least.needed, graph.fixed_bytes() + structural_minimum(graph).bytes);
  EXPECT_EQ(least.method, "keep-all");
}

TEST(LeastBudget, RefusesOptionsThatMeanNothing) {
  const Graph graph = testing::fork();
  EXPECT_THAT(least_budget(graph, {.time_limit = 0s}).error().message, HasSubstr("time limit"));
  EXPECT_THAT(least_budget(graph, {.threads = 0}).error().message, HasSubstr("threads"));
  EXPECT_THAT(least_budget(graph, {.gap = -1}).error().message, HasSubstr("gap"));
}

TEST(LeastBudget, IsWhatAnInfeasibleAnswerOffers) {
  const Graph graph = testing::weight_gradients();
  const SolveResult result = solve(graph, {.budget = least_of(graph).needed - Bytes{1}}).value();
  EXPECT_EQ(result.status, Status::kInfeasible);
  ASSERT_TRUE(result.sufficient_plan);
  EXPECT_EQ(simulate(graph, *result.sufficient_plan)->peak, result.sufficient);
  EXPECT_LE(*result.needed, *result.sufficient);
}

}  // namespace
}  // namespace checkmate
