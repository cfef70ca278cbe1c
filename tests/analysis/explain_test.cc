#include "checkmate/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/budget.h"
#include "checkmate/zoo.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using namespace literals;
using testing::diamond;
using ::testing::ElementsAre;
using testing::full_featured;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using namespace testing::diamond_ops;

Explanation explained(const Graph& graph, std::vector<OpId> steps) {
  return explain(graph, plan_from_steps(graph, std::move(steps)).value()).value();
}

struct Solved {
  SolveOptions options;
  SolveResult result;
};

Solved solved(const Graph& graph, const char* method, Bytes budget) {
  const SolveOptions options{.budget = budget, .method = method};
  return {options, solve(graph, options).value()};
}

PriceOfMemory price(const Graph& graph, const char* method, Bytes budget) {
  const Solved around = solved(graph, method, budget);
  return price_of_memory(graph, around.options, around.result).value();
}

TEST(Explain, TellsWhatRunsAgain) {
  const Explanation explanation = explained(diamond(), {kX, kA, kX, kB, kA, kX, kY});
  EXPECT_THAT(explanation.recomputed,
              ElementsAre(Recomputation{kX, 2, Cost{2}}, Recomputation{kA, 1, Cost{2}}));
  EXPECT_EQ(explanation.recomputed_cost, Cost{4});  // x twice at 1, a once at 2
}

TEST(Explain, PutsTheDearestRecomputationFirst) {
  const Explanation explanation = explained(diamond(), {kX, kA, kX, kB, kX, kB, kY});
  EXPECT_THAT(explanation.recomputed,
              ElementsAre(Recomputation{kB, 1, Cost{3}}, Recomputation{kX, 2, Cost{2}}));
}

TEST(Explain, HasNothingToSayOfRecomputationInKeepAll) {
  const Explanation explanation = explain(diamond(), keep_all_plan(diamond())).value();
  EXPECT_THAT(explanation.recomputed, IsEmpty());
  EXPECT_EQ(explanation.recomputed_cost, Cost{0});
}

TEST(Explain, PutsTheLongestStayFirst) {
  const Explanation explanation = explained(diamond(), {kX, kA, kX, kB, kY});
  // a for y: 4 steps. x for a, x again for b, b for y: 2 each, by tensor. y is used by nobody: 1 step, left
  // out.
  EXPECT_THAT(explanation.kept,
              ElementsAre(LiveInterval{TensorId{1}, 1, 4}, LiveInterval{TensorId{0}, 0, 1},
                          LiveInterval{TensorId{0}, 2, 3}, LiveInterval{TensorId{2}, 3, 4}));
}

TEST(Explain, LeavesOutStaysThatAreNoChoice) {
  const Explanation explanation = explain(full_featured(), keep_all_plan(full_featured())).value();
  // statistics for grad; hidden (10 bytes) and mask (1 byte), 3 steps each; the loss stays as an output.
  EXPECT_THAT(explanation.kept, ElementsAre(LiveInterval{TensorId{2}, 0, 3}, LiveInterval{TensorId{1}, 0, 2},
                                            LiveInterval{TensorId{3}, 1, 3}));
}

TEST(Explain, TellsEveryStepAtThePeakAndWhatIsThere) {
  const Explanation explanation = explained(diamond(), {kX, kA, kX, kB, kY});
  EXPECT_EQ(explanation.peak, Bytes{30});
  EXPECT_THAT(explanation.peak_steps, ElementsAre(3U, 4U));  // x a b, then a b y
  EXPECT_THAT(explanation.at_peak,
              ElementsAre(LiveInterval{TensorId{0}, 2, 3}, LiveInterval{TensorId{1}, 1, 4},
                          LiveInterval{TensorId{2}, 3, 4}));
}

TEST(Explain, PutsTheLargestTensorAtThePeakFirst) {
  const Explanation explanation = explain(full_featured(), keep_all_plan(full_featured())).value();
  std::vector<std::string_view> names;
  const Graph graph = full_featured();
  for (const LiveInterval& stay : explanation.at_peak) names.push_back(graph.name(stay.tensor));
  EXPECT_THAT(names, ElementsAre("gradient", "loss", "statistics", "mask"));  // 100, 4, 2, 1
}

TEST(Explain, AddsUpOnRandomPlans) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::random_graph(seed, 2 + testing::below(random, 12), testing::Features::all());
    const Plan plan = plan_from_steps(graph, testing::random_steps(graph, random)).value();
    const Result<Simulation> run = simulate(graph, plan);
    const Result<Explanation> explanation = explain(graph, plan);
    ASSERT_EQ(run.has_value(), explanation.has_value());
    if (!run) continue;
    Bytes at_peak = graph.fixed_bytes() + explanation->peak_workspace;
    for (const LiveInterval& stay : explanation->at_peak) at_peak += graph.bytes(stay.tensor);
    EXPECT_EQ(at_peak, run->peak);
    EXPECT_EQ(explanation->peak_steps.front(), run->peak_step);
    Cost again;
    for (const Recomputation& recomputation : explanation->recomputed) again += recomputation.cost;
    EXPECT_EQ(graph.keep_all_cost() + again, run->cost);
    EXPECT_EQ(again, explanation->recomputed_cost);
  }
}

TEST(Explain, RefusesAPlanThatCannotRun) {
  const Result<Explanation> explanation = explain(diamond(), plan_from_steps(diamond(), {kA}).value());
  EXPECT_THAT(explanation.error().message, HasSubstr("not in memory"));
}

TEST(PriceOfMemory, IsTheDifferenceToOptimaAround) {
  const Graph graph = testing::chain(8);
  const PriceOfMemory around = price(graph, "brute", 6_B);
  EXPECT_EQ(around.step, 1_B);  // a twentieth of 6 is less than a byte
  EXPECT_EQ(around.less.budget, 5_B);
  EXPECT_EQ(around.more.budget, 7_B);
  const Cost five = solved(graph, "brute", 5_B).result.cost.value();
  const Cost six = solved(graph, "brute", 6_B).result.cost.value();
  const Cost seven = solved(graph, "brute", 7_B).result.cost.value();
  ASSERT_LT(seven, six);
  EXPECT_EQ(around.less_costs, five - six);
  EXPECT_EQ(around.more_saves, six - seven);
  EXPECT_EQ(around.more.status, Status::kOptimal);
  EXPECT_FALSE(around.interrupted);
}

TEST(PriceOfMemory, TellsThatLessIsInfeasible) {
  const PriceOfMemory around = price(testing::chain(8), "brute", 4_B);  // a gradient and its three inputs
  EXPECT_EQ(around.less.status, Status::kInfeasible);
  EXPECT_FALSE(around.less.cost);
  EXPECT_FALSE(around.less_costs);
  EXPECT_THAT(around.less.detail, HasSubstr("alone needs 4 bytes"));
  EXPECT_GT(around.more_saves, Cost{0});
}

TEST(PriceOfMemory, IsNothingWhereNothingIsRecomputed) {
  const PriceOfMemory around = price(diamond(), "keep-all", 100_B);
  EXPECT_EQ(around.step, 5_B);
  EXPECT_EQ(around.more_saves, Cost{0});
  EXPECT_EQ(around.less_costs, Cost{0});  // 30 bytes are enough, 95 as well
  EXPECT_EQ(around.more.status, Status::kOptimal);
}

TEST(PriceOfMemory, KnowsThatAPlanFitsMoreMemoryToo) {
  const Graph graph = testing::skip_chain(8);
  const Bytes budget{keep_all_peak(graph).count() - 1};
  Solved around = solved(graph, "brute", budget);
  around.options.method = "last-node";  // recomputes everything, whatever the memory
  const PriceOfMemory found = price_of_memory(graph, around.options, around.result).value();
  EXPECT_GE(found.more_saves, Cost{0});
  ASSERT_TRUE(found.more.cost);
  EXPECT_LE(*found.more.cost, around.result.cost);
}

TEST(PriceOfMemory, CountsInGibibytesWhereTheBudgetIsLarge) {
  const Graph graph = zoo::build("unet?batch=32").value();
  const Bytes budget = parse_budget(graph, "60%").value();  // 12 GiB
  const PriceOfMemory around = price(graph, "linear-greedy", budget);
  EXPECT_EQ(around.step, 1_GiB);
  EXPECT_EQ(around.less.budget, budget - 1_GiB);
  EXPECT_EQ(around.more.budget, budget + 1_GiB);
}

TEST(PriceOfMemory, SaysThatItWasInterrupted) {
  const Graph graph = testing::chain(8);
  const Solved around = solved(graph, "brute", 6_B);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(price_of_memory(graph, around.options, around.result, stop.get_token())->interrupted);
}

TEST(PriceOfMemory, NeedsAPlan) {
  const Solved around = solved(testing::chain(8), "brute", 3_B);
  EXPECT_THAT(price_of_memory(testing::chain(8), around.options, around.result).error().message,
              HasSubstr("without a plan"));
}

}  // namespace
}  // namespace checkmate
