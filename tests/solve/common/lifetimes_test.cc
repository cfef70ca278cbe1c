#include "solve/common/lifetimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::add;
using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(Lifetimes, AreKeepAllsStays) {
  const Lifetimes stays(testing::diamond());
  EXPECT_THAT(stays.producer, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(stays.last_use, ElementsAre(2, 3, 3, 3));  // nobody uses y: it stays while it is made
  EXPECT_THAT(stays.own, ElementsAre(10, 20, 20, 30));   // inputs and outputs
  EXPECT_THAT(stays.memory, ElementsAre(10, 20, 30, 30));
  EXPECT_EQ(stays.peak(), 2U);  // the first of two
}

TEST(Lifetimes, LeaveOutResidentTensorsAndKeepOutputsToTheEnd) {
  const Graph graph = testing::full_featured();
  const Lifetimes stays(graph);
  EXPECT_EQ(stays.producer[0], UINT32_MAX);  // weight
  EXPECT_EQ(stays.bytes[0], 0);
  EXPECT_EQ(stays.last_use[4], 4U);  // loss
  // hidden 10, statistics 2, mask 1, loss 4, gradient 100; norm has a workspace of 5, hidden ends with loss.
  EXPECT_THAT(stays.memory, ElementsAre(10 + 2 + 5, 10 + 2 + 1, 10 + 2 + 1 + 4, 2 + 1 + 4 + 100));
  EXPECT_EQ(stays.memory[stays.peak()], keep_all_peak(graph).count());
  EXPECT_EQ(stays.own[3], 2 + 1 + 100);
}

TEST(Lifetimes, CrossWhatIsBetweenMakingAndLastUse) {
  const Lifetimes stays(testing::diamond());
  EXPECT_TRUE(stays.crosses(0, 1));   // x, while a is made
  EXPECT_FALSE(stays.crosses(0, 0));  // it is being made
  EXPECT_FALSE(stays.crosses(0, 2));  // b uses it
}

TEST(Lifetimes, PeakIsKeepAllsOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::random_graph(seed, 12, testing::Features::all());
    const Lifetimes stays(graph);
    EXPECT_EQ(stays.memory[stays.peak()], keep_all_peak(graph).count()) << seed;
  }
}

TEST(CostsToBringBack, SplitWhatMustComeBackByTheSizeOfItsReaders) {
  // s (cost 8) feeds u and v, which make 1 and 5 bytes at cost 3 and 4; m runs, and then u and v are used.
  GraphBuilder b("shared");
  const TensorId s = add(b, "s", 8, 9);
  const TensorId u = add(b, "u", 3, 1, {s});
  const TensorId v = add(b, "v", 4, 5, {s});
  add(b, "m", 1, 1);
  add(b, "use", 1, 1, {u, v});
  const Graph graph = std::move(b).build().value();
  // Readers weigh 1 + bytes: 2 and 6. s is gone at m, so u costs 3 + 8 x 2/8 and v 4 + 8 x 6/8.
  EXPECT_THAT(costs_to_bring_back(graph, Lifetimes(graph), 3),
              ElementsAre(DoubleEq(8), DoubleEq(5), DoubleEq(10)));
}

}  // namespace
}  // namespace checkmate
