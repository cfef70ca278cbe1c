#include "solve/anneal/recomputations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/plan.h"
#include "checkmate/simulate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using testing::Features;
using testing::random_graph;

/// What the profile should say of the runs: by the simulator, which knows nothing of it. At its end the
/// profile has a position more, where there are outputs: nothing runs, and they are all there.
double overflow_by_simulation(const Graph& graph, const SearchGraph& flat, const std::vector<OpId>& steps) {
  const Simulation run = simulate(graph, *plan_from_steps(graph, steps)).value();
  double sum = 0;
  const auto add = [&](Bytes memory) {
    const double over = static_cast<double>(memory.count()) - flat.budget;
    if (over > 0) sum += over + std::floor(flat.budget / 1000);
  };
  for (const Bytes memory : run.memory) add(memory - graph.fixed_bytes());
  Bytes outputs;
  for (const TensorId tensor : graph.tensors()) {
    if (graph.output(tensor)) outputs += graph.bytes(tensor);
  }
  add(outputs);
  return sum;
}

TEST(Recomputations, StageRunsThemInOrderBeforeItsFirstRun) {
  const Graph graph = testing::chain(3);  // f0 f1 f2 loss g2 g1 g0
  const SearchGraph flat(graph, Bytes{100});
  Recomputations state(flat);
  state.insert({5, 1});
  state.insert({5, 0});
  EXPECT_THAT(state.steps(),
              ElementsAre(OpId{0}, OpId{1}, OpId{2}, OpId{3}, OpId{4}, OpId{0}, OpId{1}, OpId{5}, OpId{6}));
  EXPECT_EQ(state.cost(), 7 + 2);
  EXPECT_TRUE(state.contains({5, 1}));
  EXPECT_THAT(state.in_stage(5), ElementsAre(0, 1));
  state.erase({5, 0});
  EXPECT_THAT(state.in_stage(5), ElementsAre(1));
}

TEST(Recomputations, MemoryAndCostAreTheSimulatorsAfterAnyChanges) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    // Beyond 64 ops there is more than one block.
    const Graph graph = random_graph(seed, seed % 8 == 0 ? 150 : 2 + random.below(9), Features::all());
    const Bytes budget = graph.fixed_bytes() + Bytes{random.between(1, keep_all_peak(graph).count())};
    const SearchGraph flat(graph, budget);
    Recomputations state(flat);
    for (int change = 0; change < 60; ++change) {
      const auto stage = static_cast<Stage>(random.below(flat.ops));
      const auto op = static_cast<std::uint32_t>(random.below(stage + 1));
      if (op == stage || !flat.recomputable[op]) continue;
      const checkmate::Run run{stage, op};  // not the test's own
      if (state.contains(run)) {
        state.erase(run);
      } else {
        state.insert(run);
      }
      const std::vector<OpId> steps = state.steps();
      ASSERT_EQ(state.overflow(), overflow_by_simulation(graph, flat, steps));
      Cost cost;
      for (const OpId step : steps) cost = cost + graph.cost(step);
      ASSERT_EQ(state.cost(), static_cast<double>(cost.count()));
      ASSERT_EQ(state.size(), steps.size() + flat.ops - flat.real_ops);
    }
  }
}

TEST(Recomputations, AnOutputMayGoAndBeMadeAgainAfterTheLastFirstRun) {
  GraphBuilder b("early_output");
  const auto add = [&](const char* name, std::int64_t bytes, bool output, Bytes workspace) {
    const TensorId made = b.add_tensor({.name = name, .bytes = Bytes{bytes}, .output = output});
    b.add_op({.name = name, .cost = Cost{1}, .inputs = {}, .outputs = {made}, .workspace = workspace});
  };
  add("gradient", 4, true, Bytes{0});
  add("large", 1, true, Bytes{5});
  const Graph graph = std::move(b).build().value();
  const SearchGraph flat(graph, Bytes{6});  // 5 + 1 for the large op alone
  Recomputations state(flat);
  EXPECT_EQ(state.overflow(), 4);  // with the gradient 10
  state.insert({2, 0});            // 4, 5 + 1, 1 + 4
  EXPECT_EQ(state.overflow(), 0);
  EXPECT_THAT(state.steps(), ElementsAre(OpId{0}, OpId{1}, OpId{0}));
}

TEST(SearchGraph, RoundsHugeSizesSoThatWhatFitsStillFits) {
  GraphBuilder b("huge");
  const TensorId x = b.add_op_with_output({.name = "x", .cost = Cost{1}, .inputs = {}, .outputs = {}},
                                          Bytes{(std::int64_t{1} << 60) + 1});
  b.add_op_with_output({.name = "y", .cost = Cost{1}, .inputs = {x}, .outputs = {}}, Bytes{1});
  const Graph graph = std::move(b).build().value();
  EXPECT_LT(SearchGraph(graph, keep_all_peak(graph)).bytes[0], 0x1p52);
  // x and y together are 2^60 + 2: one byte less is not enough, whatever the unit.
  const SearchGraph flat(graph, keep_all_peak(graph) - Bytes{1});
  EXPECT_GT(flat.bytes[0] + flat.bytes[1], flat.budget);
}

}  // namespace
}  // namespace checkmate
