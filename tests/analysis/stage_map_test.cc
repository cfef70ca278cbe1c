#include "checkmate/stage_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "checkmate/checkmate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<OpId> steps(std::initializer_list<std::uint32_t> ops) {
  std::vector<OpId> ids;
  for (const std::uint32_t op : ops) ids.push_back({op});
  return ids;
}

TEST(StageMap, IsADiagonalForKeepAll) {
  const Graph graph = testing::diamond();  // x; a, b read x; y reads both
  const StageMap map = stage_map(graph, keep_all_plan(graph)).value();
  EXPECT_EQ(map.stages, 4U);
  EXPECT_THAT(map.ops, ElementsAre(OpId{0}, OpId{1}, OpId{2}, OpId{3}));
  EXPECT_THAT(map.recomputed, IsEmpty());
  // x stays until b has run, a and b until y has; y is never there when a stage begins.
  EXPECT_THAT(map.kept,
              ElementsAre(StageMap::Stay{0, 1, 2}, StageMap::Stay{1, 2, 3}, StageMap::Stay{2, 3, 3}));
}

TEST(StageMap, PutsARecomputationIntoTheStageThatNeedsIt) {
  const Graph graph = testing::diamond();
  const Plan plan = plan_from_steps(graph, steps({0, 1, 0, 2, 3})).value();
  const StageMap map = stage_map(graph, plan).value();
  EXPECT_EQ(map.stages, 4U);
  EXPECT_THAT(map.recomputed, ElementsAre(StageMap::Run{2, 0}));
  // x is dropped after a, and its second stay begins and ends in stage 2.
  EXPECT_THAT(map.kept,
              ElementsAre(StageMap::Stay{0, 1, 1}, StageMap::Stay{1, 2, 3}, StageMap::Stay{2, 3, 3}));
}

TEST(StageMap, CountsPlacesInTheOrderOfFirstRuns) {
  const Graph graph = testing::diamond();
  const StageMap map = stage_map(graph, plan_from_steps(graph, steps({0, 2, 1, 3})).value()).value();
  EXPECT_THAT(map.ops, ElementsAre(OpId{0}, OpId{2}, OpId{1}, OpId{3}));
  EXPECT_THAT(map.kept,
              ElementsAre(StageMap::Stay{0, 1, 2}, StageMap::Stay{1, 2, 3}, StageMap::Stay{2, 3, 3}));
}

TEST(StageMap, RefusesAPlanThatCannotRun) {
  const Graph graph = testing::diamond();
  EXPECT_FALSE(stage_map(graph, Plan{.steps = steps({3}), .frees = {}}));
}

TEST(StageMap, AgreesWithTheSimulatorOnRandomPlans) {
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 0; seed < testing::share_of(400); ++seed) {
    const Graph graph = testing::random_graph(seed, 1 + seed % 12, testing::Features::all());
    const Plan plan = plan_from_steps(graph, testing::random_steps(graph, random)).value();
    const StageMap map = stage_map(graph, plan).value();
    const Simulation run = simulate(graph, plan).value();
    EXPECT_EQ(map.ops.size() + map.recomputed.size(), plan.steps.size());

    // The first step of each stage, and what is in memory before it, from the intervals.
    std::set<std::pair<std::uint32_t, std::uint32_t>> expected;
    std::vector<std::uint32_t> place(graph.op_count());
    for (std::uint32_t i = 0; i < map.ops.size(); ++i) place[map.ops[i].index()] = i;
    std::vector<bool> seen(graph.op_count());
    std::uint32_t stage = 0;
    bool begins = true;
    for (std::uint32_t step = 0; step < plan.steps.size(); ++step) {
      if (begins) {
        for (const LiveInterval& stay : run.intervals) {
          if (stay.first < step && step <= stay.last)
            expected.insert({place[graph.producer(stay.tensor)->index()], stage});
        }
      }
      begins = !seen[plan.steps[step].index()];
      seen[plan.steps[step].index()] = true;
      stage += begins ? 1 : 0;
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> told;
    for (const StageMap::Stay& stay : map.kept) {
      EXPECT_LE(stay.first, stay.last);
      EXPECT_LT(stay.last, map.stages);
      for (std::uint32_t t = stay.first; t <= stay.last; ++t)
        EXPECT_TRUE(told.insert({stay.place, t}).second);
    }
    EXPECT_EQ(told, expected) << seed;
  }
}

}  // namespace
}  // namespace checkmate
