#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/solve.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::add;
using ::testing::HasSubstr;
using testing::solved;

TEST(Brute, FindsThatRunningAStageOutOfOrderIsCheaper) {
  const Graph graph = testing::out_of_order();
  const SolveResult any = solved(graph, "brute", Bytes{11});
  const SolveResult stages = solved(graph, "brute-stages", Bytes{11});
  ASSERT_TRUE(any.plan);
  EXPECT_TRUE(!stages.plan || stages.cost > any.cost);
  EXPECT_NE(stages.status, Status::kInfeasible) << "another class of plans has one";
}

TEST(Brute, KnowsTheLeastFeasibleBudget) {
  const Graph graph = testing::fork();  // no op needs more than 4, but a and b and x meet
  const SolveResult result = solved(graph, "brute", Bytes{5});
  EXPECT_EQ(result.status, Status::kInfeasible);
  EXPECT_EQ(result.needed, Bytes{6});
  EXPECT_EQ(solved(graph, "brute", Bytes{6}).status, Status::kOptimal);
}

TEST(Brute, ProvesInfeasibilityWithoutKnowingTheLeastBudget) {
  // Twenty sources beside a fork that needs 90 bytes: the second search, for how much is needed, has too many
  // states.
  GraphBuilder b("wide fork");
  for (int i = 0; i < 20; ++i) add(b, "source", 1, 10);
  const TensorId x = add(b, "x", 1, 30);
  const TensorId left = add(b, "left", 1, 30, {x});
  const TensorId right = add(b, "right", 1, 30, {x});
  add(b, "v", 1, 0, {left, right});
  const SolveResult result = solved(std::move(b).build().value(), "brute", Bytes{60});
  EXPECT_EQ(result.status, Status::kInfeasible);
  EXPECT_GT(*result.needed, Bytes{60});
}

TEST(Brute, LeavesLargeGraphsAlone) {
  const SolveResult result = solved(testing::chain(20), "brute", Bytes{10});
  EXPECT_EQ(result.status, Status::kUnknown);
  EXPECT_THAT(result.detail, HasSubstr("limited to 24 ops"));
}

}  // namespace
}  // namespace checkmate
