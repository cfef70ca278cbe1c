#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/solve.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::HasSubstr;
using testing::solved;

TEST(Chen, SegmentsAChainBySquareRoots) {
  // 16 layers in segments of 4: all but the last segment and the checkpoints run twice, 3 x 3 more runs at
  // cost 1.
  const Graph graph = testing::chain(16);
  const SolveResult result = solved(graph, "chen-sqrt", Bytes{100});
  EXPECT_EQ(result.cost, graph.keep_all_cost() + Cost{9});
  EXPECT_LT(result.peak, Bytes{16});
}

TEST(Chen, SearchesTheSegmentSizeThatFits) {
  const Graph graph = testing::chain(30);
  const SolveResult roomy = solved(graph, "chen-greedy", Bytes{25});
  const SolveResult tight = solved(graph, "chen-greedy", Bytes{15});
  ASSERT_TRUE(roomy.plan && tight.plan);
  EXPECT_LE(roomy.cost, tight.cost);
  const SolveResult none = solved(graph, "chen-greedy", Bytes{5});
  EXPECT_EQ(none.status, Status::kUnknown);
  EXPECT_THAT(none.detail, HasSubstr("smallest peak that this method reaches"));
}

TEST(Griewank, RecomputesMoreTheLessThereIs) {
  const Graph graph = testing::chain(30);
  Cost cost{0};
  for (const std::int64_t budget : {20, 12, 8, 6}) {
    const SolveResult result = solved(graph, "griewank", Bytes{budget});
    ASSERT_TRUE(result.plan) << budget;
    EXPECT_GE(result.cost, cost);
    cost = *result.cost;
  }
}

}  // namespace
}  // namespace checkmate
