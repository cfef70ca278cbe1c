#include "solve/free_order/instances.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkmate/checkmate.h"
#include "solve/free_order/instance_moves.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::Features;
using testing::full_featured;
using testing::random_graph;
using testing::random_steps;

Bytes half_of_keep_all(const Graph& graph) {
  return graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() / 2};
}

Simulation replay(const Graph& graph, std::vector<OpId> steps) {
  Result<Plan> plan = plan_from_steps(graph, std::move(steps));
  EXPECT_TRUE(plan) << plan.error().message;
  Result<Simulation> run = simulate(graph, *plan);
  EXPECT_TRUE(run) << run.error().message;
  return std::move(*run);
}

/// What the state says of its memory against a sum over everything that lives, made from scratch.
void expect_sums_from_scratch(const SearchGraph& graph, const Instances& state) {
  std::vector<double> memory(state.size() + 1ULL, 0);
  double cost = 0;
  for (std::uint32_t i = 0; i <= state.size(); ++i) {
    const std::uint32_t instance = state.at(i);
    ASSERT_EQ(state.position(instance), i);
    cost += graph.cost[state.op(instance)];
    memory[i] += graph.workspace[state.op(instance)];
    for (const std::uint32_t input : state.inputs(instance)) ASSERT_LT(state.position(state.maker(input)), i);
    for (std::uint32_t slot = 0; slot < state.value_count(instance); ++slot) {
      std::uint32_t last = i;
      for (const std::uint32_t consumer : state.consumers(state.first_value(instance) + slot))
        last = std::max(last, state.position(consumer));
      for (std::uint32_t p = i; p <= last; ++p) memory[p] += state.bytes(state.first_value(instance) + slot);
    }
  }
  double overflow = 0;
  for (std::uint32_t i = 0; i <= state.size(); ++i) {
    ASSERT_EQ(state.memory(i), memory[i]) << "position " << i;
    overflow += state.penalty(state.memory(i));
  }
  EXPECT_EQ(state.cost(), cost);
  EXPECT_EQ(state.overflow(), overflow);
  EXPECT_EQ(state.fits(), overflow == 0);
  EXPECT_EQ(state.runs(graph.end()).size(), 1U);
}

/// The plan, in which every step reads the latest run, needs no more memory anywhere and costs the same.
void expect_plan_no_larger(const Graph& graph, const Instances& state, double byte_unit) {
  const Simulation run = replay(graph, state.steps());
  for (std::uint32_t i = 0; i < state.size(); ++i) {
    const std::int64_t planned = run.memory[i].count() - graph.fixed_bytes().count();
    EXPECT_LE(static_cast<double>(planned), byte_unit * state.memory(i)) << "step " << i;
  }
}

TEST(Instances, LoadsAPlanWithTheMemoryThatTheSimulatorFinds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 3 + seed % 12, Features::all());
    std::mt19937_64 random(seed);
    const SearchGraph instances(graph, half_of_keep_all(graph), SearchUnits::common_divisors(graph));
    Instances state(instances);
    state.load(random_steps(graph, random));
    expect_sums_from_scratch(instances, state);
    const Simulation run = replay(graph, state.steps());
    for (std::uint32_t i = 0; i < state.size(); ++i) {
      const std::int64_t bytes = run.memory[i].count() - graph.fixed_bytes().count();
      EXPECT_EQ(static_cast<double>(bytes), instances.byte_unit * state.memory(i)) << "step " << i;
    }
  }
}

TEST(Instances, LeavesOutRunsThatNobodyReads) {
  const Graph graph = testing::diamond();  // x -> a, b -> y
  const SearchGraph instances(graph, Bytes{100}, SearchUnits::common_divisors(graph));
  Instances state(instances);
  const std::vector<OpId> steps = {OpId{0}, OpId{1}, OpId{0}, OpId{1}, OpId{0}, OpId{2}, OpId{3}, OpId{2}};
  state.load(steps);
  // y reads the second a and the first b. So the second b goes, the first a and with it the first x: what is
  // left is x, a, x, b, y.
  EXPECT_EQ(state.steps(), (std::vector<OpId>{OpId{0}, OpId{1}, OpId{0}, OpId{2}, OpId{3}}));
  EXPECT_EQ(state.cost(), 1 + 2 + 1 + 3 + 4);
}

TEST(Instances, EqualsASumFromScratchAfterRandomMovesAndUndos) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 3 + seed % 14, seed % 4 == 0 ? Features{} : Features::all());
    const SearchGraph instances(graph, half_of_keep_all(graph), SearchUnits::common_divisors(graph));
    Instances state(instances);
    Random random(seed);
    InstanceMoves moves(instances, state, random);
    state.load(keep_all_plan(graph).steps);
    for (std::uint32_t i = 0; i < 300; ++i) {
      if (random.one_in(2)) {
        moves.try_order(random.one_in(3) ? 0 : INFINITY);
      } else {
        const std::vector<OpId> steps = state.steps();
        const double overflow = state.overflow();
        // Few limits, so that long plans come about.
        if (moves.change_runs(0.1, random.one_in(3) ? state.cost() : 5 * instances.base_cost) &&
            random.one_in(2)) {
          state.commit();
        } else {
          state.undo();
          ASSERT_EQ(state.steps(), steps);
          ASSERT_EQ(state.overflow(), overflow);
        }
      }
      expect_sums_from_scratch(instances, state);
      if (HasFatalFailure()) return;
    }
    expect_plan_no_larger(graph, state, instances.byte_unit);
  }
}

TEST(Instances, KeepsAnOutputToTheEnd) {
  // w (6 bytes, an output) and then a, b of 3 bytes each: 6, 9 and, a freed, 9 bytes.
  GraphBuilder b("output");
  const TensorId w = b.add_tensor({.name = "w", .bytes = Bytes{6}, .output = true});
  b.add_op({.name = "w", .cost = Cost{1}, .inputs = {}, .outputs = {w}});
  b.add_op_with_output({.name = "a", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{3});
  b.add_op_with_output({.name = "b", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{3});
  const Graph graph = std::move(b).build().value();
  const SearchGraph instances(graph, Bytes{9}, SearchUnits::common_divisors(graph));
  Instances state(instances);
  state.load(keep_all_plan(graph).steps);
  // In units of 3 bytes.
  EXPECT_EQ(state.memory(0), 2);
  EXPECT_EQ(state.memory(1), 3);
  EXPECT_EQ(state.memory(2), 3);
  EXPECT_TRUE(state.fits());
  // Run last, w meets nobody.
  EXPECT_TRUE(state.relocate(state.at(0), 2, 0));
  EXPECT_EQ(state.memory(0), 1);
  EXPECT_EQ(state.memory(1), 1);
  EXPECT_EQ(state.memory(2), 2);
}

TEST(Instances, RunsWhatCannotBeRecomputedOnce) {
  const Graph graph = full_featured();
  const SearchGraph instances(graph, half_of_keep_all(graph), SearchUnits::common_divisors(graph));
  Instances state(instances);
  Random random(7);
  InstanceMoves moves(instances, state, random);
  state.load(keep_all_plan(graph).steps);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    if (moves.change_runs(1, INFINITY)) {
      state.commit();
    } else {
      state.undo();
    }
    for (const OpId op : graph.ops()) {
      const std::size_t runs = state.runs(op.value).size();
      ASSERT_TRUE(graph.recomputable(op) ? runs >= 1 : runs == 1);
    }
    if (state.size() > 60) state.load(keep_all_plan(graph).steps);
  }
}

}  // namespace
}  // namespace checkmate
