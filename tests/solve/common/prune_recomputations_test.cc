#include "solve/common/prune_recomputations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::add;
using ::testing::ElementsAre;

std::vector<OpId> pruned(const Graph& graph, Bytes budget, std::vector<OpId> steps,
                         std::stop_token stop = {}) {
  const SolveOptions options{.budget = budget};
  return prune_recomputations(SearchContext(graph, options, std::move(stop)), std::move(steps));
}

constexpr OpId k0{0}, k1{1}, k2{2}, k3{3};

TEST(PruneRecomputations, TakesOutWhatTheBudgetHasRoomFor) {
  const std::vector<OpId> steps = {k0, k1, k2, k0, k3};  // peak 40; without the second x 50
  EXPECT_THAT(pruned(testing::late_use(), Bytes{50}, steps), ElementsAre(k0, k1, k2, k3));
  EXPECT_EQ(pruned(testing::late_use(), Bytes{49}, steps), steps);
}

TEST(PruneRecomputations, TakesOutWhatOnlyFedTheRecomputation) {
  const std::vector<OpId> steps = {k0, k1, k2, k0, k1, k3};  // a again, and for it x again
  EXPECT_THAT(pruned(testing::diamond(), Bytes{30}, steps), ElementsAre(k0, k1, k2, k3));
}

TEST(PruneRecomputations, TakesTheMostExpensiveFirst) {
  // p and q, 10 bytes each, wait while m needs 20 bytes. Within 30 bytes one of them can stay: q, at cost 5.
  GraphBuilder b("one of two");
  const TensorId p = add(b, "p", 1, 10);
  const TensorId q = add(b, "q", 5, 10);
  add(b, "m", 1, 20);
  add(b, "use", 1, 0, {p, q});
  const Graph graph = std::move(b).build().value();
  EXPECT_THAT(pruned(graph, Bytes{30}, {k0, k1, k2, k0, k1, k3}), ElementsAre(k0, k1, k2, k0, k3));
}

TEST(PruneRecomputations, NeverLeavesTheBudgetOrCostsMore) {
  std::size_t cheaper = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::random_graph(seed, 8, testing::Features::all());
    const std::vector<OpId> steps = testing::random_steps(graph, random, 1.0);
    const Result<Simulation> before = simulate(graph, plan_from_steps(graph, steps).value());
    if (!before) continue;
    const Plan plan = plan_from_steps(graph, pruned(graph, before->peak, steps)).value();
    const Simulation after = simulate(graph, plan).value();
    EXPECT_LE(after.peak, before->peak);
    EXPECT_LE(after.cost, before->cost);
    cheaper += after.cost < before->cost ? 1 : 0;
  }
  EXPECT_GT(cheaper, 50U);
}

TEST(PruneRecomputations, LeavesThePlanAloneWhenStopped) {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<OpId> steps = {k0, k1, k2, k0, k3};
  EXPECT_EQ(pruned(testing::late_use(), Bytes{50}, steps, stop.get_token()), steps);
}

}  // namespace
}  // namespace checkmate
