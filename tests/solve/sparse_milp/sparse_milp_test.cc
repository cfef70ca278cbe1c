#include "solve/sparse_milp/sparse_milp.h"

#include <gtest/gtest.h>

#include <set>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "lp/safe_bound.h"
#include "solve/brute/brute.h"
#include "solve/common/incumbent.h"
#include "solve/sparse_milp/cover_cuts.h"
#include "solve/sparse_milp/path_cuts.h"
#include "solve/sparse_milp/sparse_model.h"
#include "solve/sparse_milp/sparse_rounding.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::Case;
using testing::Features;
using testing::random_case;
using testing::random_graph;
using testing::share_of;

Outcome exact(const Case& c, bool stages) {
  const SolveOptions options{.budget = c.budget};
  const SearchContext search(c.graph, options, {});
  return stages ? solve_brute_stages(search) : solve_brute(search);
}

std::vector<Stage> random_moments(const Graph& graph, std::mt19937_64& random) {
  std::vector<Stage> moments;
  const std::uint64_t odds = 1 + below(random, 3);
  for (const OpId op : graph.ops()) {
    if (below(random, odds) == 0) moments.push_back(op.value);
  }
  if (moments.empty()) moments.push_back(static_cast<Stage>(below(random, graph.op_count())));
  return moments;
}

std::vector<InnerMoment> all_inner(const Graph& graph) {
  std::vector<InnerMoment> inner;
  for (const OpId op : graph.ops()) inner.push_back({static_cast<Stage>(graph.op_count()), op});
  for (const OpId stage : graph.ops()) {
    for (const OpId op : graph.ops()) {
      if (op < stage) inner.push_back({stage.value, op});
    }
  }
  return inner;
}

/// The relaxation's bound with all cuts, which go into the model.
LinearSolution relaxation_with_cuts(SparseModel& model) {
  LinearSolver solver(model.program());
  for (int round = 0;; ++round) {
    LinearSolution solution = solver.solve({.relax = true});
    if (solution.status != LinearSolution::Status::kOptimal) return solution;
    std::vector<LinearRow> rows;
    for (const PathCut& cut : broken_path_cuts(model, solution.values, 100)) {
      rows.push_back(row_of(model, cut));
      model.add_row(rows.back());
    }
    for (const CoverCut& cut : broken_cover_cuts(model, solution.values)) {
      rows.push_back(row_of(model, cut));
      model.add_row(rows.back());
    }
    if (rows.empty() || round == 20) return solution;
    solver.add_rows(rows);
  }
}

void expect_bound(const SparseModel& model, const LinearSolution& solution,
                  const std::optional<Cost>& optimum) {
  if (!optimum || model.program().column_count() == 0) return;
  ASSERT_EQ(solution.status, LinearSolution::Status::kOptimal);
  EXPECT_LE(*safe_bound(model.graph(), model.cost_of(solution.bound)), *optimum);
}

TEST(SparseModel, NeverBoundsAboveTheOptimum) {
  for (std::uint64_t seed = 0; seed < share_of(2500); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, 3);
    const std::optional<Cost> optimum = exact(c, false).lower_bound;
    std::mt19937_64 random(seed);
    SparseModel model(c.graph, {.budget = c.budget,
                                .moments = random_moments(c.graph, random),
                                .inner = seed % 2 == 0 ? all_inner(c.graph) : std::vector<InnerMoment>{}});
    expect_bound(model, relaxation_with_cuts(model), optimum);
    expect_bound(model, LinearSolver(model.program()).solve({}), optimum);
  }
}

TEST(SparseModel, WithInnerMomentsNeverBoundsAboveTheOptimumOfThePapersClass) {
  for (std::uint64_t seed = 5000; seed < 5000 + share_of(1000); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, 3);
    const std::optional<Cost> optimum = exact(c, true).stage_lower_bound;
    std::mt19937_64 random(seed);
    SparseModel model(c.graph, {.budget = c.budget,
                                .moments = random_moments(c.graph, random),
                                .inner = all_inner(c.graph),
                                .scope = Scope::kPapersClass});
    expect_bound(model, relaxation_with_cuts(model), optimum);
    expect_bound(model, LinearSolver(model.program()).solve({}), optimum);
  }
}

TEST(SparseModel, WithAllMomentsIsExactForThePapersClass) {
  for (std::uint64_t seed = 7000; seed < 7000 + share_of(300); ++seed) {
    SCOPED_TRACE(seed);
    const Case c =
        random_case(3 * seed, 3);  // without outputs: here they may also be rerun after the last stage
    const std::optional<Cost> optimum = exact(c, true).stage_lower_bound;
    std::vector<Stage> moments;
    for (const OpId op : c.graph.ops()) moments.push_back(op.value);
    const SparseModel model(
        c.graph,
        {.budget = c.budget, .moments = moments, .inner = all_inner(c.graph), .scope = Scope::kPapersClass});
    const LinearSolution solution = LinearSolver(model.program()).solve({});
    if (!optimum || model.program().column_count() == 0) continue;
    ASSERT_EQ(solution.status, LinearSolution::Status::kOptimal);
    EXPECT_NEAR(model.cost_of(solution.objective), static_cast<double>(optimum->count()), 1e-3);
  }
}

TEST(SparseModel, HoldsEveryPlanWithinTheBudget) {
  std::size_t fitting = 0;
  for (std::uint64_t seed = 0; seed < share_of(3000); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, 3);
    std::mt19937_64 random(seed);
    const std::vector<OpId> steps = testing::random_steps(c.graph, random);
    const Plan plan = plan_from_steps(c.graph, steps).value();
    const Simulation simulation = simulate(c.graph, plan).value();
    // The plan's own peak is the least budget that it holds.
    const Bytes budget = below(random, 2) == 0 ? simulation.peak : std::max(c.budget, simulation.peak);
    SparseModel model(
        c.graph, {.budget = budget, .moments = random_moments(c.graph, random), .inner = all_inner(c.graph)});
    relaxation_with_cuts(model);
    const std::vector<double> columns = model.columns_of(steps);
    EXPECT_EQ(model.program().violated_row(columns), std::nullopt);
    double objective = 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
      objective += columns[i] * model.program().column(static_cast<Column>(i)).cost;
    EXPECT_LE(model.cost_of(objective), static_cast<double>(simulation.cost.count()) + 1e-3);
    ++fitting;
  }
  EXPECT_EQ(fitting, share_of(3000));
}

/// All that improve_bounds() finds out, on its own.
Outcome improved(const Case& c, std::uint64_t moves = 0, std::vector<OpId> start = {}) {
  const SolveOptions options{.budget = c.budget, .time_limit = std::chrono::seconds(60), .moves = moves};
  const SearchContext search(c.graph, options, {});
  Incumbent incumbent(search);
  if (!start.empty()) incumbent.offer(std::move(start), "start");
  improve_bounds(search, incumbent);
  return incumbent.outcome();
}

TEST(SparseMilp, BoundsNeverPassTheOptimumAndPlansFit) {
  std::size_t closed = 0;
  std::size_t feasible = 0;
  for (std::uint64_t seed = 0; seed < share_of(400); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, 3);
    const Outcome every = exact(c, false);
    const Outcome stages = exact(c, true);
    std::vector<OpId> start;
    if (seed % 2 == 0 && every.steps) start = *every.steps;
    const Outcome outcome = improved(c, 0, start);
    if (every.steps) {
      ++feasible;
      EXPECT_EQ(outcome.needed, std::nullopt);
      EXPECT_LE(*outcome.lower_bound, *every.lower_bound);
      if (outcome.steps && *outcome.lower_bound == *every.lower_bound) ++closed;
    }
    if (stages.steps && outcome.stage_lower_bound) {
      EXPECT_LE(*outcome.stage_lower_bound, *stages.stage_lower_bound);
    }
    if (!outcome.steps) continue;
    ASSERT_TRUE(every.steps);
    const Simulation run = simulate(c.graph, *plan_from_steps(c.graph, *outcome.steps)).value();
    EXPECT_LE(run.peak, c.budget);
    EXPECT_GE(run.cost, *outcome.lower_bound);
  }
  EXPECT_GT(closed * 10, feasible * 8) << closed << " of " << feasible << " are closed";
}

TEST(SparseMilp, CountingMovesGivesTheSameAnswerTwice) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Graph graph = random_graph(seed, 40, Features::all());
    const Bytes budget = graph.fixed_bytes() + Bytes{std::max(keep_all_peak(graph).count() * 7 / 10,
                                                              structural_minimum(graph).bytes.count())};
    const Case c{std::move(graph), budget};
    const Outcome first = improved(c, 1000);
    const Outcome second = improved(c, 1000);
    EXPECT_EQ(first.steps, second.steps);
    EXPECT_EQ(first.lower_bound, second.lower_bound);
    EXPECT_EQ(first.stage_lower_bound, second.stage_lower_bound);
  }
}

TEST(SparseMilp, SaysNothingInFreeOrder) {
  const Graph graph = testing::diamond();
  const SolveOptions options{.budget = Bytes{30}, .order = Order::kFree};
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  improve_bounds(search, incumbent);
  EXPECT_EQ(incumbent.bound(), graph.keep_all_cost());
  EXPECT_FALSE(incumbent.has_plan());
}

/// Tensors of about 2^54 bytes next to tensors of a few: a training step in which gradients read what the
/// forward part made.
Graph sizes_far_apart(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  GraphBuilder builder("far apart");
  const std::uint64_t ops = 10 + below(random, 4);
  std::vector<TensorId> made;
  for (std::uint64_t op = 0; op < ops; ++op) {
    constexpr std::int64_t kLarge = std::int64_t{1} << 54;
    const std::int64_t bytes = below(random, 2) == 0 ? kLarge + static_cast<std::int64_t>(below(random, 2))
                                                     : 1 + static_cast<std::int64_t>(below(random, 9));
    std::set<TensorId> inputs;
    if (op > 0) inputs = {made.back(), made[below(random, op)], made[2 * op >= ops ? ops - 1 - op : op - 1]};
    made.push_back(testing::add(builder, "op" + std::to_string(op),
                                1 + static_cast<std::int64_t>(below(random, 50)), bytes,
                                {inputs.begin(), inputs.end()}));
  }
  return std::move(builder).build().value();
}

TEST(SparseMilp, TakesSizesThatAreFarApart) {
  for (std::uint64_t seed = 0; seed < share_of(200); ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = sizes_far_apart(seed);
    const Bytes budget{keep_all_peak(graph).count() / 10 * 7};
    const SolveResult result = testing::solved(graph, "sparse-milp", budget);
    EXPECT_EQ(result.detail.find("bug"), std::string::npos) << result.detail;
    const SolveResult best = testing::solved(graph, "brute", budget);
    EXPECT_TRUE(!best.plan || result.lower_bound <= *best.cost);
  }
}

TEST(SparseMilp, AGapOfOneStopsAtTheFirstPlan) {
  const Graph graph = testing::late_use();
  const SolveOptions options{.budget = Bytes{40}, .gap = 1};
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  improve_bounds(search, incumbent);
  EXPECT_TRUE(incumbent.has_plan());  // no plan yet is no gap of 1
}

TEST(SparseMilp, StopsWhenAsked) {
  const Graph graph = random_graph(1, 200, Features::all());
  const SolveOptions options{.budget = graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() / 2}};
  std::stop_source stop;
  stop.request_stop();
  const SearchContext search(graph, options, stop.get_token());
  Incumbent incumbent(search);
  improve_bounds(search, incumbent);
  EXPECT_EQ(incumbent.bound(), graph.keep_all_cost());
}

TEST(SparseMilp, LeavesTheTimeThatIsNotItsOwn) {
  const Graph graph = random_graph(1, 200, Features::all());
  const SolveOptions options{.budget = graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() / 2}};
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  improve_bounds(search.part(1e-6), incumbent);
  EXPECT_FALSE(incumbent.done());  // most of the 60 s is there for others
}

}  // namespace
}  // namespace checkmate
