#include "solve/knapsack/knapsack.h"

#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/zoo.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::add;
using testing::below;
using testing::Features;
using testing::random_budget;
using testing::random_graph;
using testing::share_of;

KnapsackBound bound_of(const Graph& graph, Bytes budget) {
  const SolveOptions options{.budget = budget};
  return knapsack_bound(SearchContext(graph, options, {}));
}

// x, a and b are used one after another, from the last to the first.
Graph three_used_in_turn() {
  GraphBuilder b("turns");
  const TensorId x = add(b, "x", 3, 10, {});
  const TensorId a = add(b, "a", 7, 10, {});
  const TensorId c = add(b, "b", 9, 10, {});
  const TensorId m = add(b, "m", 1, 5, {});
  const TensorId m1 = add(b, "m1", 1, 5, {c, m});
  const TensorId m2 = add(b, "m2", 1, 5, {a, m1});
  add(b, "m3", 1, 5, {x, m2});
  return std::move(b).build().value();
}

TEST(Knapsack, CountsWholeValuesOnly) {
  const Graph graph = three_used_in_turn();
  const Cost keep_all{3 + 7 + 9 + 4};
  // While m1 runs: x and a, 20, with b, m and m1, 10 + 5 + 5 = 20, make 40.
  EXPECT_EQ(bound_of(graph, Bytes{40}).bound, keep_all);
  // One byte too many costs all of x, the cheaper of x and a.
  EXPECT_EQ(bound_of(graph, Bytes{39}).bound, keep_all + Cost{3});
  EXPECT_EQ(bound_of(graph, Bytes{30}).bound, keep_all + Cost{3});
  // 11 bytes too many: both.
  EXPECT_EQ(bound_of(graph, Bytes{29}).bound, keep_all + Cost{3 + 7});
  EXPECT_FALSE(bound_of(graph, Bytes{29}).infeasible);
}

TEST(Knapsack, CountsWhatLedToADroppedValue) {
  // y is made from the large h, which nobody else reads: to bring y back is to run h again, 5 + 20, for
  // keeping h instead would take more bytes than keeping y.
  GraphBuilder b("ancestors");
  const TensorId h = add(b, "h", 20, 30, {});
  const TensorId y = add(b, "y", 5, 10, {h});
  add(b, "m", 1, 40, {});
  add(b, "z", 1, 0, {y});
  const Graph graph = std::move(b).build().value();
  EXPECT_EQ(bound_of(graph, Bytes{40}).bound, Cost{20 + 5 + 1 + 1 + 25});
  EXPECT_EQ(bound_of(graph, Bytes{50}).bound, Cost{20 + 5 + 1 + 1});
}

TEST(Knapsack, AddsUpOverIntervals) {
  // x is in the way of the large p and again of the large q, and used after each of them.
  GraphBuilder b("twice");
  const TensorId x = add(b, "x", 8, 10, {});
  add(b, "p", 1, 95, {});
  add(b, "use1", 1, 0, {x});
  add(b, "q", 1, 95, {});
  add(b, "use2", 1, 0, {x});
  const Graph graph = std::move(b).build().value();
  EXPECT_EQ(bound_of(graph, Bytes{100}).bound, Cost{8 + 1 + 1 + 1 + 1 + 2 * 8});
}

TEST(Knapsack, ProvesThatWhatRunsOnceDoesNotFit) {
  GraphBuilder b("once");
  const TensorId x = b.add_op_with_output(
      {.name = "x", .cost = Cost{1}, .inputs = {}, .outputs = {}, .recomputable = false}, Bytes{10});
  add(b, "p", 1, 95, {});
  add(b, "use", 1, 0, {x});
  b.set_reserved_bytes(Bytes{1000});
  const Graph graph = std::move(b).build().value();
  const KnapsackBound bound = bound_of(graph, Bytes{1100});
  EXPECT_TRUE(bound.infeasible);
  EXPECT_EQ(bound.least, Bytes{1000 + 10 + 95});
  EXPECT_FALSE(bound_of(graph, bound.least).infeasible);
}

TEST(Knapsack, ProvesThatTheOutputsDoNotFit) {
  GraphBuilder b("outputs");
  for (const char* name : {"x", "y"}) {
    const TensorId out = b.add_tensor({.name = name, .bytes = Bytes{10}, .output = true});
    b.add_op({.name = name, .cost = Cost{1}, .inputs = {}, .outputs = {out}});
  }
  const Graph graph = std::move(b).build().value();
  const KnapsackBound bound = bound_of(graph, Bytes{19});
  EXPECT_TRUE(bound.infeasible);
  EXPECT_EQ(bound.least, Bytes{20});
}

TEST(Knapsack, NeverExceedsTheOptimum) {
  std::size_t infeasible = 0, above_keep_all = 0, tight = 0;
  for (std::uint64_t seed = 0; seed < share_of(6000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph =
        random_graph(seed, 3 + below(random, 6), seed % 4 == 0 ? Features{} : Features::all());
    const Bytes budget = random_budget(graph, random);
    const SolveResult best = *solve(graph, {.budget = budget, .method = "brute"});
    const KnapsackBound bound = bound_of(graph, budget);
    if (bound.infeasible) {
      ++infeasible;
      EXPECT_GT(bound.least, budget);
      ASSERT_EQ(best.status, Status::kInfeasible);
      EXPECT_LE(bound.least, *best.needed);
    }
    EXPECT_GE(bound.bound, graph.keep_all_cost());
    if (!best.plan) continue;
    ASSERT_LE(bound.bound, best.cost);
    above_keep_all += bound.bound > graph.keep_all_cost() ? 1 : 0;
    tight += bound.bound == best.cost && best.cost > graph.keep_all_cost() ? 1 : 0;
  }
  EXPECT_GT(infeasible, share_of(100));
  EXPECT_GT(above_keep_all, share_of(500));
  EXPECT_GT(tight, share_of(250));
}

TEST(Knapsack, MovesNoFirstRunSoItHasNothingToSayOfFreeOrder) {
  const Graph graph = testing::chain(4);
  const SolveOptions options{.budget = Bytes{5}, .order = Order::kFree};
  const Outcome outcome = solve_knapsack_bound(SearchContext(graph, options, {}));
  EXPECT_FALSE(outcome.lower_bound);
  EXPECT_FALSE(outcome.needed);
}

TEST(Knapsack, StaysBelowThePlansOfSmallNetworks) {
  for (const char* spec : {"linear?n=20", "gpt2?layers=2", "resnet?depth=50", "unet", "mobilenet"}) {
    const Graph graph = zoo::build(spec).value();
    for (const std::int64_t percent : {90, 60, 40}) {
      const Bytes budget = graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() * percent / 100};
      const SolveResult plan = *solve(graph, {.budget = budget, .method = "linear-greedy"});
      const KnapsackBound bound = bound_of(graph, budget);
      EXPECT_FALSE(bound.infeasible && plan.plan) << spec;
      if (!plan.plan) continue;
      EXPECT_LE(bound.bound, plan.cost) << spec << " at " << percent << "%";
      EXPECT_GE(bound.bound, graph.keep_all_cost());
    }
  }
}

}  // namespace
}  // namespace checkmate
