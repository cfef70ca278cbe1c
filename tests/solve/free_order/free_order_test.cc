#include "solve/free_order/free_order.h"

#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::Features;
using testing::random_graph;

SolveOptions free_order(Bytes budget, std::uint64_t moves) {
  SolveOptions options{.budget = budget};
  options.order = Order::kFree;
  options.moves = moves;
  return options;
}

Outcome anneal(const Graph& graph, const SolveOptions& options, std::uint64_t seed = 1) {
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  anneal_free_order(search, incumbent, seed);
  return incumbent.outcome();
}

Cost cost_of(const Graph& graph, const std::vector<OpId>& steps) {
  Cost cost;
  for (const OpId step : steps) cost += graph.cost(step);
  return cost;
}

/// Within the budget, by the validator's word.
void expect_valid(const Graph& graph, const std::vector<OpId>& steps, Bytes budget) {
  Result<Plan> plan = plan_from_steps(graph, steps);
  ASSERT_TRUE(plan) << plan.error().message;
  const std::vector<Violation> violations = validate(graph, *plan, budget, Order::kFree);
  EXPECT_TRUE(violations.empty()) << describe(graph, violations.front());
}

/// Two pairs of a large value and the small one made of it: {big, small} one after the other, or both big
/// ones at once.
Graph two_pairs() {
  GraphBuilder b("two_pairs");
  const TensorId big1 = testing::add(b, "big1", 1, 10);
  const TensorId big2 = testing::add(b, "big2", 1, 10);
  const TensorId small1 = testing::add(b, "small1", 1, 1, {big1});
  const TensorId small2 = testing::add(b, "small2", 1, 1, {big2});
  testing::add(b, "both", 1, 1, {small1, small2});
  return std::move(b).build().value();
}

TEST(FreeOrder, FindsAnOrderThatFitsWhereTheGivenOneDoesNot) {
  const Graph graph = two_pairs();
  EXPECT_EQ(keep_all_peak(graph), Bytes{21});                           // 10 + 10 + 1
  const Outcome found = anneal(graph, free_order(Bytes{12}, 100'000));  // 1 + 10 + 1
  ASSERT_TRUE(found.steps);
  EXPECT_EQ(found.steps->size(), 5U);
  expect_valid(graph, *found.steps, Bytes{12});
  EXPECT_LT(found.moves, 100'000U) << "no plan is cheaper, so it stops";
}

TEST(FreeOrder, FindsPlansThatNoneIsCheaperThan) {
  std::size_t cases = 0;
  std::size_t dearer = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = random_graph(seed, 3 + seed % 6, seed % 3 == 0 ? Features{} : Features::all());
    const std::int64_t low = structural_minimum(graph).bytes.count();
    const std::int64_t high = keep_all_peak(graph).count();
    for (int i = 0; i < 2; ++i) {
      const auto extra = static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(high - low) + 1));
      const Bytes budget = graph.fixed_bytes() + Bytes{std::max<std::int64_t>(low + extra / (i + 1), 1)};
      SolveOptions options = free_order(budget, 30'000);
      const Outcome found = anneal(graph, options, seed);
      options.method = "brute";
      const SolveResult best = solve(graph, options).value();
      if (!best.plan) {
        EXPECT_FALSE(found.steps);
        continue;
      }
      ++cases;
      if (!found.steps) {
        ++dearer;
        continue;
      }
      expect_valid(graph, *found.steps, budget);
      EXPECT_GE(cost_of(graph, *found.steps), best.cost);
      dearer += cost_of(graph, *found.steps) > best.cost ? 1 : 0;
    }
  }
  EXPECT_GT(cases, 400U);
  EXPECT_LE(dearer, cases / 50) << "of " << cases;
}

TEST(FreeOrder, TriesTheSameMovesFromTheSameSeed) {
  const Graph graph = random_graph(11, 40, Features::all());
  const std::int64_t low = structural_minimum(graph).bytes.count();
  const std::int64_t high = keep_all_peak(graph).count();
  const SolveOptions options = free_order(graph.fixed_bytes() + Bytes{low + (high - low) / 4}, 50'000);
  const Outcome once = anneal(graph, options, 3);
  const Outcome again = anneal(graph, options, 3);
  EXPECT_EQ(once.steps, again.steps);
  EXPECT_EQ(once.moves, again.moves);
}

TEST(FreeOrder, TakesThePlanOfSomebodyElseFurther) {
  const Graph graph = testing::chain(8);
  const Bytes budget{6};
  const SolveOptions options = free_order(budget, 5'000);
  const SolveResult start = solve(graph, {.budget = budget, .method = "ap-greedy"}).value();
  ASSERT_TRUE(start.plan);
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  ASSERT_TRUE(incumbent.offer(start.plan->steps, "ap-greedy"));
  const Cost before = incumbent.cost();
  anneal_free_order(search, incumbent, 1);
  EXPECT_LE(incumbent.cost(), before);
  expect_valid(graph, incumbent.steps(), budget);
}

TEST(FreeOrder, StopsWhenAskedTo) {
  const Graph graph = random_graph(5, 60, Features::all());
  const SolveOptions options = free_order(graph.fixed_bytes() + structural_minimum(graph).bytes, 0);
  std::stop_source stop;
  stop.request_stop();
  const SearchContext search(graph, options, stop.get_token());
  Incumbent incumbent(search);
  anneal_free_order(search, incumbent, 1);
  EXPECT_LE(incumbent.outcome().moves, 1000U);
}

TEST(FreeOrder, LeavesGraphsAloneWhoseSumsWouldNotBeExact) {
  GraphBuilder b("huge");
  const std::int64_t huge = (std::int64_t{1} << 60) + 1;
  const TensorId a =
      b.add_op_with_output({.name = "a", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{huge});
  b.add_op_with_output({.name = "b", .cost = Cost{1}, .inputs = {a}, .outputs = {}}, Bytes{2});
  const Graph graph = std::move(b).build().value();
  const Outcome found = anneal(graph, free_order(Bytes{huge}, 1000));
  EXPECT_FALSE(found.steps);
  EXPECT_EQ(found.moves, 0U);
}

}  // namespace
}  // namespace checkmate
