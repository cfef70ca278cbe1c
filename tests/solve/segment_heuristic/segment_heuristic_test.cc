#include "solve/segment_heuristic/segment_heuristic.h"

#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/validate.h"
#include "checkmate/zoo.h"
#include "solve/knapsack/knapsack.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::Features;
using testing::random_budget;
using testing::random_graph;
using testing::share_of;

Bytes share_of_peak(const Graph& graph, std::int64_t percent) {
  return graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() * percent / 100};
}

/// The plan's cost, once the simulator and the validator have accepted it.
std::optional<Cost> start_cost(const Graph& graph, Bytes budget) {
  const SolveOptions options{.budget = budget};
  std::optional<std::vector<OpId>> steps = segmented_start(SearchContext(graph, options, {}));
  if (!steps) return std::nullopt;
  const Plan plan = plan_from_steps(graph, std::move(*steps)).value();
  EXPECT_TRUE(validate(graph, plan, budget, Order::kFixed).empty());
  return simulate(graph, plan).value().cost;
}

TEST(Segments, KeepAllIsEnoughWhereItFits) {
  const Graph graph = testing::skip_chain(6);
  EXPECT_EQ(start_cost(graph, share_of_peak(graph, 100)), graph.keep_all_cost());
}

TEST(Segments, DropsTheCheapestBytesOverThePeak) {
  // f0 .. f3 make 10 bytes each, at costs 5, 1, 9, 4; the gradients read them in turn, f3 first. At the peak,
  // g3 with its inputs f3 and loss holds 10 + 1 + 1, and f0, f1, f2 wait: 42. At 32 one of them has to go,
  // and f1 is the cheapest; it comes back from f0.
  GraphBuilder b("four");
  std::vector<TensorId> values;
  const std::vector<std::int64_t> costs = {5, 1, 9, 4};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::vector<TensorId> inputs =
        i > 0 ? std::vector<TensorId>{values[i - 1]} : std::vector<TensorId>{};
    values.push_back(b.add_op_with_output(
        {.name = "f", .cost = Cost{costs[i]}, .inputs = inputs, .outputs = {}}, Bytes{10}));
  }
  TensorId gradient = b.add_op_with_output(
      {.name = "loss", .cost = Cost{1}, .inputs = {values.back()}, .outputs = {}}, Bytes{1});
  for (std::size_t i = values.size(); i-- > 0;) {
    gradient = b.add_op_with_output(
        {.name = "g", .cost = Cost{1}, .inputs = {values[i], gradient}, .outputs = {}}, Bytes{1});
  }
  const Graph graph = std::move(b).build().value();
  ASSERT_EQ(keep_all_peak(graph), Bytes{42});
  EXPECT_EQ(graph.keep_all_cost(), Cost{5 + 1 + 9 + 4 + 1 + 4});
  EXPECT_EQ(start_cost(graph, Bytes{32}), graph.keep_all_cost() + Cost{1});
}

TEST(Segments, PlansAreValidAndNoCheaperThanTheOptimum) {
  std::size_t plans = 0, optimal = 0;
  for (std::uint64_t seed = 0; seed < share_of(6000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph =
        random_graph(seed, 3 + below(random, 6), seed % 4 == 0 ? Features{} : Features::all());
    const Bytes budget = random_budget(graph, random);
    const std::optional<Cost> cost = start_cost(graph, budget);
    if (!cost) continue;
    const SolveResult best = *solve(graph, {.budget = budget, .method = "brute"});
    ASSERT_TRUE(best.plan);
    ASSERT_GE(*cost, best.cost);
    plans += best.cost > graph.keep_all_cost() ? 1 : 0;
    optimal += best.cost > graph.keep_all_cost() && *cost == best.cost ? 1 : 0;
  }
  EXPECT_GT(plans, share_of(100));
  EXPECT_GT(optimal, plans / 2);
}

TEST(Segments, PlansOfLargerRandomGraphsAreValidAndNotBelowTheBound) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 20 + seed % 60, Features::all());
    const Bytes budget = share_of_peak(graph, 70 + static_cast<std::int64_t>(seed % 25));
    const SolveOptions options{.budget = budget};
    const KnapsackBound bound = knapsack_bound(SearchContext(graph, options, {}));
    const std::optional<Cost> cost = start_cost(graph, budget);
    EXPECT_FALSE(cost && bound.infeasible);
    EXPECT_LE(bound.bound, cost.value_or(bound.bound));
    plans += cost ? 1 : 0;
  }
  EXPECT_GT(plans, 30U);
}

struct Promise {
  const char* network;
  std::int64_t percent;
  double points;  // above the bound, of keep-all's cost
};

TEST(Segments, ComesNearTheBoundOnDeepNetworks) {
  for (const auto& [network, percent, points] :
       {Promise{"gpt2?layers=48&dropout=off", 50, 0.1}, Promise{"gpt2?layers=48&dropout=off", 25, 0.3},
        Promise{"gpt2?layers=48&dropout=off", 15, 0.5}, Promise{"gpt2?layers=48", 50, 0.1},
        Promise{"resnet?depth=152&repeat=4", 50, 0.05}, Promise{"resnet?depth=152&repeat=4", 25, 0.5}}) {
    const Graph graph = zoo::build(network).value();
    const Bytes budget = share_of_peak(graph, percent);
    const SolveOptions options{.budget = budget};
    const KnapsackBound bound = knapsack_bound(SearchContext(graph, options, {}));
    const std::optional<Cost> cost = start_cost(graph, budget);
    ASSERT_TRUE(cost) << network << " at " << percent << "%";
    EXPECT_GE(*cost, bound.bound);
    EXPECT_LE(100 * (overhead(graph, *cost) - overhead(graph, bound.bound)), points)
        << network << " at " << percent << "%";
  }
}

TEST(Segments, OffersEveryImprovement) {
  const Graph graph = zoo::build("resnet?depth=50").value();
  std::vector<Cost> seen;
  const SolveOptions options{
      .budget = share_of_peak(graph, 50),
      .on_progress = [&](const Progress& progress) { seen.push_back(progress.cost.value()); }};
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  segmented_start(search, incumbent);
  ASSERT_TRUE(incumbent.has_plan());
  EXPECT_EQ(incumbent.cost(), start_cost(graph, options.budget));
  EXPECT_EQ(seen.back(), incumbent.cost());
  EXPECT_TRUE(std::is_sorted(seen.rbegin(), seen.rend()));
}

TEST(Segments, StopsWhenAsked) {
  const Graph graph = zoo::build("resnet?depth=50").value();
  const SolveOptions options{.budget = share_of_peak(graph, 50)};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(segmented_start(SearchContext(graph, options, stop.get_token())));
}

}  // namespace
}  // namespace checkmate
