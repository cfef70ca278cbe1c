#include "solve/least_peak/eviction.h"

#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::Features;
using testing::random_graph;

std::optional<std::vector<OpId>> run(const Graph& graph, Bytes budget, const EvictionWeights& weights = {}) {
  const SolveOptions options{.budget = budget};
  constexpr std::size_t kMostSteps = 10'000;
  return evicting_run(SearchContext(graph, options, {}), Lifetimes(graph),
                      (budget - graph.fixed_bytes()).count(), weights, kMostSteps);
}

TEST(Eviction, RunsEachOpOnceWhereEverythingFits) {
  const Graph graph = testing::chain(10);
  EXPECT_EQ(run(graph, graph.fixed_bytes() + keep_all_peak(graph)), keep_all_plan(graph).steps);
}

TEST(Eviction, MakesAgainWhatHadToGo) {
  // x goes while a and b meet, and comes back for y.
  const Graph graph = testing::late_use();
  using namespace testing::diamond_ops;
  EXPECT_EQ(run(graph, Bytes{40}), (std::vector<OpId>{kX, kA, kB, kX, kY}));
  EXPECT_FALSE(run(graph, Bytes{39}));
}

TEST(Eviction, RunsArePlansWithinTheBudget) {
  std::size_t found = 0;
  std::size_t recomputing = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = random_graph(seed, 3 + seed % 30, Features::all());
    const Bytes budget = testing::random_budget(graph, random);
    const EvictionWeights weights{.cost = static_cast<double>(seed % 3) / 2,
                                  .distance = static_cast<double>(seed % 5) / 4,
                                  .waiting_may_go = seed % 2 == 0,
                                  .luck = static_cast<double>(seed % 4),
                                  .seed = seed};
    const auto steps = run(graph, budget, weights);
    if (!steps) continue;
    ++found;
    recomputing += steps->size() > graph.op_count() ? 1 : 0;
    EXPECT_TRUE(validate(graph, *plan_from_steps(graph, *steps), budget, Order::kFixed).empty());
    EXPECT_EQ(run(graph, budget, weights), steps);
  }
  EXPECT_GT(found, 1000U);
  EXPECT_GT(recomputing, 200U);
}

TEST(Eviction, EndsWhereStepsOrTimeDo) {
  const Graph graph = testing::chain(100);
  const SolveOptions options{.budget = Bytes{8}};
  const SearchContext search(graph, options, {});
  const Lifetimes lifetimes(graph);
  ASSERT_TRUE(evicting_run(search, lifetimes, 20, {}, 10'000));
  EXPECT_FALSE(evicting_run(search, lifetimes, 20, {}, graph.op_count()));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(evicting_run(SearchContext(graph, options, stop.get_token()), lifetimes, 20, {}, 10'000));
}

}  // namespace
}  // namespace checkmate
