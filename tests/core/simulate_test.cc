#include "checkmate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/structural_minimum.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::diamond;
using ::testing::ElementsAre;
using testing::full_featured;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using namespace testing::diamond_ops;

Plan tight(const Graph& graph, std::vector<OpId> steps) {
  return plan_from_steps(graph, std::move(steps)).value();
}

std::string why_not(const Graph& graph, const Plan& plan) {
  const Result<Simulation> run = simulate(graph, plan);
  return run ? "it runs" : run.error().message;
}

TEST(TightestFrees, FreesAnInputRightAfterItsLastUse) {
  const Plan plan = keep_all_plan(diamond());
  EXPECT_THAT(plan.frees.after(0), IsEmpty());
  EXPECT_THAT(plan.frees.after(1), IsEmpty());
  EXPECT_THAT(plan.frees.after(2), ElementsAre(TensorId{0}));  // x, after b
}

TEST(TightestFrees, FreesAnUnusedTensorRightAfterItIsMade) {
  const Plan plan = keep_all_plan(diamond());
  EXPECT_THAT(plan.frees.after(3),
              ElementsAre(TensorId{3}, TensorId{1}, TensorId{2}));  // y, and a and b that it read
}

TEST(TightestFrees, FreesBeforeTheNextRun) {
  const Plan plan = tight(diamond(), {kX, kA, kX, kB, kY});
  EXPECT_THAT(plan.frees.after(1), ElementsAre(TensorId{0}));  // x, after a: it is made again before b
}

TEST(TightestFrees, NeverFreesAnOutputAfterItsLastRun) {
  const Graph graph = full_featured();
  const Plan plan = keep_all_plan(graph);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (const TensorId tensor : plan.frees.after(step)) EXPECT_FALSE(graph.output(tensor));
  }
}

TEST(TightestFrees, RefusesAnUnknownOp) {
  EXPECT_THAT(tightest_frees(diamond(), std::vector{OpId{9}}).error().message,
              HasSubstr("step 0 runs op 9, but the graph has ops 0 to 3"));
}

TEST(Simulate, CountsMemoryAtEachStep) {
  const Simulation run = simulate(diamond(), keep_all_plan(diamond())).value();
  EXPECT_THAT(run.memory,
              ElementsAre(Bytes{10}, Bytes{20}, Bytes{30}, Bytes{30}));  // x | x a | x a b | a b y
  EXPECT_EQ(run.peak, Bytes{30});
  EXPECT_EQ(run.peak_step, 2U);
  EXPECT_EQ(run.cost, Cost{10});  // 1 + 2 + 3 + 4
  EXPECT_THAT(run.run_counts, ElementsAre(1U, 1U, 1U, 1U));
}

TEST(Simulate, CountsFixedBytesAndWorkspace) {
  const Simulation run = simulate(full_featured(), keep_all_plan(full_featured())).value();
  // Always 1100 fixed. norm: hidden 10 + statistics 2 + workspace 5. drop: 10 + 2 + mask 1. loss: 13 + 4.
  // grad: statistics 2 + mask 1 + loss 4, which stays, + gradient 100.
  EXPECT_THAT(run.memory, ElementsAre(Bytes{1117}, Bytes{1113}, Bytes{1117}, Bytes{1207}));
}

TEST(Simulate, TellsWhenEachTensorIsThere) {
  const Simulation run = simulate(diamond(), tight(diamond(), {kX, kA, kX, kB, kY})).value();
  EXPECT_THAT(run.intervals, ElementsAre(LiveInterval{TensorId{0}, 0, 1}, LiveInterval{TensorId{0}, 2, 3},
                                         LiveInterval{TensorId{3}, 4, 4}, LiveInterval{TensorId{1}, 1, 4},
                                         LiveInterval{TensorId{2}, 3, 4}));
  EXPECT_THAT(run.run_counts, ElementsAre(2U, 1U, 1U, 1U));
  EXPECT_EQ(run.cost, Cost{11});
}

TEST(Simulate, LeavesWhatIsNeverFreed) {
  Plan plan = keep_all_plan(diamond());
  plan.frees = {};
  for (int i = 0; i < 4; ++i) plan.frees.push_step({});
  EXPECT_EQ(simulate(diamond(), plan)->peak, Bytes{40});
}

TEST(Simulate, SaysWhyAPlanCannotRun) {
  const Graph graph = diamond();
  EXPECT_THAT(why_not(graph, tight(graph, {kA})),
              HasSubstr("step 0 (op 1 'a') reads tensor 0 'x', which is not in memory"));
  EXPECT_THAT(why_not(graph, tight(graph, {kX, kA, kB})), HasSubstr("op 3 'y' never runs"));
  EXPECT_THAT(why_not(graph, Plan{{kX}, {}}), HasSubstr("1 step but frees for 0"));

  Plan remade{{kX, kX}, {}};
  remade.frees.push_step({});
  remade.frees.push_step({});
  EXPECT_THAT(why_not(graph, remade), HasSubstr("makes tensor 0 'x', which is still in memory"));

  Plan freed_early{{kX, kA, kB, kY}, {}};
  freed_early.frees.push_step(std::vector{TensorId{0}, TensorId{0}});
  for (int i = 0; i < 3; ++i) freed_early.frees.push_step({});
  EXPECT_THAT(why_not(graph, freed_early), HasSubstr("tensor 0 'x' is freed, which is not in memory"));

  Plan unknown{{kX}, {}};
  unknown.frees.push_step(std::vector{TensorId{9}});
  EXPECT_THAT(why_not(graph, unknown), HasSubstr("unknown tensor 9"));
  EXPECT_THAT(why_not(graph, Plan{{OpId{9}}, keep_all_plan(graph).frees}), HasSubstr("frees for 4"));
}

TEST(Simulate, RefusesASecondRunOfWhatRunsOnce) {
  const Graph graph = full_featured();
  EXPECT_THAT(why_not(graph, tight(graph, {OpId{0}, OpId{1}, OpId{1}, OpId{2}, OpId{3}})),
              HasSubstr("not recomputable"));
}

TEST(Simulate, RefusesAnOutputThatIsGoneAtTheEnd) {
  const Graph graph = full_featured();
  Plan plan = keep_all_plan(graph);
  Frees frees;
  for (std::size_t step = 0; step < 3; ++step) frees.push_step(plan.frees.after(step));
  frees.push_step(std::vector{TensorId{4}});  // the loss
  plan.frees = frees;
  EXPECT_THAT(why_not(graph, plan), HasSubstr("tensor 4 'loss' is an output"));
}

TEST(Simulate, RefusesACostThatOverflows) {
  GraphBuilder b("g");
  b.add_op_with_output({.name = "f", .cost = Cost{kLargestTotal}, .inputs = {}, .outputs = {}}, Bytes{1});
  const Graph graph = std::move(b).build().value();
  EXPECT_THAT(why_not(graph, tight(graph, {OpId{0}, OpId{0}})), HasSubstr("cost exceeds 2^63"));
}

TEST(KeepAllPeak, LeavesOutTheFixedBytes) {
  EXPECT_EQ(keep_all_peak(full_featured()), Bytes{107});
}  // 1207 - 1100

TEST(StructuralMinimum, IsTheLargestOpWithAllItTouches) {
  EXPECT_EQ(structural_minimum(diamond()).bytes, Bytes{30});  // a + b + y
  EXPECT_EQ(structural_minimum(diamond()).op, kY);
  const StructuralMinimum full = structural_minimum(full_featured());
  EXPECT_EQ(full.bytes, Bytes{103});  // grad: statistics 2 + mask 1 + gradient 100; the weight is fixed
  EXPECT_EQ(full.op, OpId{3});
}

}  // namespace
}  // namespace checkmate
