#include "solve/common/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ForwardPart, EndsBeforeTheFirstBackwardOp) {
  EXPECT_EQ(forward_size(testing::chain(5)), 6U);  // 5 layers and the loss
  EXPECT_EQ(forward_size(testing::diamond()), 0U);
}

TEST(ForwardPart, IsAChainOrNot) {
  EXPECT_TRUE(forward_is_chain(testing::chain(5)));
  EXPECT_FALSE(forward_is_chain(testing::skip_chain(5)));
  EXPECT_FALSE(forward_is_chain(testing::diamond()));
  EXPECT_TRUE(forward_is_chain(testing::skip_chain(2)));
}

TEST(ForwardPart, KnowsTheLastForwardUse) {
  EXPECT_THAT(last_forward_uses(testing::skip_chain(4)), ElementsAre(2U, 3U, 3U, 3U));
}

TEST(ArticulationPoints, AreTheInnerOpsOfAChain) {
  EXPECT_THAT(articulation_points(testing::chain(4)),
              ElementsAre(OpId{0 + 1}, OpId{2}, OpId{3}));  // not the first, not the loss
}

TEST(ArticulationPoints, AreNoneWhereSkipsBridgeEveryOp) {
  EXPECT_THAT(articulation_points(testing::skip_chain(5)), IsEmpty());
}

TEST(ArticulationPoints, AreWhereTwoDiamondsMeet) {
  GraphBuilder b("two diamonds");
  const auto add = [&](std::vector<TensorId> inputs, Phase phase = Phase::kForward) {
    return b.add_op_with_output(
        {.name = "", .cost = Cost{1}, .inputs = std::move(inputs), .outputs = {}, .phase = phase}, Bytes{1});
  };
  const TensorId top = add({});
  const TensorId middle = add({add({top}), add({top})});
  const TensorId bottom = add({add({middle}), add({middle})});
  add({bottom}, Phase::kBackward);
  EXPECT_THAT(articulation_points(std::move(b).build().value()), ElementsAre(OpId{3}));
}

TEST(ArticulationPoints, TakeAMillionOpsWithoutRecursion) {
  EXPECT_EQ(articulation_points(testing::chain(500000)).size(), 499999U);
}

}  // namespace
}  // namespace checkmate
