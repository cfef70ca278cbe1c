#include "checkmate/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/validate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::Features;
using ::testing::HasSubstr;
using testing::random_budget;
using testing::random_graph;
using testing::share_of;

SolveResult run(const Graph& graph, std::string_view method, Bytes budget, Order order = Order::kFixed) {
  Result<SolveResult> result =
      solve(graph, {.budget = budget, .method = std::string(method), .order = order, .moves = 3000});
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

/// One suite over every method; MethodInfo says what each promises.
class Conformance : public ::testing::TestWithParam<MethodInfo> {};
INSTANTIATE_TEST_SUITE_P(Solve, Conformance, ::testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& method) {
                           std::string name(method.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// What the method answers holds, as brute force over all plans of the order knows it.
void expect_sound(const MethodInfo& method, const Graph& graph, Bytes budget, Order order) {
  const SolveResult result = run(graph, method.name, budget, order);
  const SolveResult best = run(graph, "brute", budget, order);
  ASSERT_NE(best.status, Status::kUnknown);
  EXPECT_GE(result.lower_bound, graph.keep_all_cost());
  EXPECT_LE(result.lower_bound, best.plan ? best.cost : Cost{INT64_MAX});
  if (result.stage_lower_bound) {
    const SolveResult staged = run(graph, "brute-stages", budget);
    EXPECT_LE(*result.stage_lower_bound, staged.plan ? staged.cost : Cost{INT64_MAX});
  }
  EXPECT_TRUE(method.plans || !result.plan);
  if (result.plan) {
    EXPECT_TRUE(validate(graph, *result.plan, budget, order).empty());
    EXPECT_LE(simulate(graph, *result.plan)->peak, budget);
    ASSERT_TRUE(best.plan) << "a plan where none can be";
    EXPECT_LE(best.cost, result.cost);
    EXPECT_EQ(result.status == Status::kOptimal, result.cost == result.lower_bound);
    EXPECT_TRUE(result.status != Status::kOptimal || result.cost == best.cost);
  }
  if (result.status == Status::kInfeasible) {
    EXPECT_EQ(best.status, Status::kInfeasible);
    EXPECT_LE(*result.needed, *best.needed);
    EXPECT_GT(*result.needed, budget);
  }
  EXPECT_FALSE(method.exact && result.status == Status::kUnknown);
  EXPECT_TRUE(result.plan || result.sufficient.value_or(Bytes{INT64_MAX}) > budget);
}

TEST_P(Conformance, ReturnsAValidPlanWithinBudgetThatBruteForceDoesNotBeat) {
  for (std::uint64_t seed = 0; seed < share_of(400); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Features features = seed % 2 == 0 ? Features::all() : Features{};
    features.phases = true;
    const Graph graph = random_graph(seed, 2 + below(random, 6), features);
    expect_sound(GetParam(), graph, random_budget(graph, random), Order::kFixed);
  }
}

TEST_P(Conformance, ClaimsNothingInFreeOrderThatOnlyTheFixedOneKeeps) {
  for (std::uint64_t seed = 0; seed < share_of(200); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Features features = seed % 2 == 0 ? Features::all() : Features{};
    features.phases = true;
    const Graph graph = random_graph(seed, 4 + below(random, 4), features);
    expect_sound(GetParam(), graph, random_budget(graph, random), Order::kFree);
  }
}

/// Ten bytes that are wanted in the end, ops that need nothing, and one that needs 1 + 15 for itself. In 20
/// bytes the first op has to run again after it: 10 + 16 is too much. More ops than brute force gets in
/// `auto`.
Graph wanted_at_the_end() {
  GraphBuilder b("wanted_at_the_end");
  const auto add = [&](std::int64_t bytes, Bytes workspace, bool output) {
    const TensorId made = b.add_tensor({.name = "", .bytes = Bytes{bytes}, .output = output});
    b.add_op({.name = "", .cost = Cost{1}, .inputs = {}, .outputs = {made}, .workspace = workspace});
  };
  add(10, Bytes{0}, true);
  for (int i = 0; i < 14; ++i) add(0, Bytes{0}, false);
  add(1, Bytes{15}, false);
  return std::move(b).build().value();
}

TEST_P(Conformance, TakesAStartThatRunsOutputsAgainAtTheEnd) {
  if (GetParam().name.starts_with("brute")) return;  // it begins with nothing, and takes long
  const Graph graph = wanted_at_the_end();
  std::vector<OpId> start = keep_all_plan(graph).steps;
  start.push_back(OpId{0});
  for (const Order order : {Order::kFixed, Order::kFree}) {
    const SolveResult result = solve(graph, {.budget = Bytes{20},
                                             .method = std::string(GetParam().name),
                                             .order = order,
                                             .moves = 3000,
                                             .start = start})
                                   .value();
    const bool begins_with_it = GetParam().name == "auto" || GetParam().name == "anneal" ||
                                GetParam().name == "sparse-milp" || GetParam().name == "milp";
    ASSERT_TRUE(result.plan || !begins_with_it);
    EXPECT_LE(result.plan ? result.cost : Cost{0}, Cost{17});  // 16 ops, one of them twice
  }
}

TEST_P(Conformance, IgnoresAStartThatIsNoPlanOfTheOrder) {
  if (GetParam().name.starts_with("brute")) return;  // it begins with nothing, and takes long
  const Graph graph = wanted_at_the_end();
  std::vector<OpId> backwards;
  for (std::uint32_t op = 16; op-- > 0;) backwards.push_back(OpId{op});
  for (const std::vector<OpId>& start : {backwards, {OpId{99}}, {OpId{0}}}) {
    const SolveResult result =
        solve(graph,
              {.budget = Bytes{20}, .method = std::string(GetParam().name), .moves = 3000, .start = start})
            .value();
    EXPECT_TRUE(!result.plan || validate(graph, *result.plan, Bytes{20}).empty());
  }
}

TEST_P(Conformance, KeepsEverythingWhenThereIsRoom) {
  for (const Graph& graph : {testing::diamond(), testing::chain(6), testing::full_featured()}) {
    // Those with a fixed number of segments recompute whatever the budget; the others must not.
    const bool adapts = GetParam().name.ends_with("greedy") || GetParam().name == "auto" ||
                        GetParam().name == "keep-all" || GetParam().name == "milp" ||
                        GetParam().name == "anneal" || GetParam().exact;
    if (!adapts || (GetParam().needs_chain && graph.name() != "linear?n=6")) continue;
    if (GetParam().name.ends_with("greedy") && graph.name() == "diamond")
      continue;  // it has no backward phase
    const SolveResult result = run(graph, GetParam().name, graph.fixed_bytes() + keep_all_peak(graph));
    EXPECT_EQ(result.status, Status::kOptimal);
    EXPECT_EQ(result.cost, graph.keep_all_cost());
  }
}

TEST_P(Conformance, GivesTheSamePlanAgain) {
  const Graph graph = testing::chain(7);
  const SolveResult first = run(graph, GetParam().name, Bytes{8});
  const SolveResult second = run(graph, GetParam().name, Bytes{8});
  EXPECT_EQ(first.plan, second.plan);
  EXPECT_EQ(first.status, second.status);
}

TEST_P(Conformance, ChainMethodsSayWhyTheyLeaveOtherGraphsAlone) {
  const SolveResult result = run(testing::skip_chain(8), GetParam().name, Bytes{8});
  if (GetParam().needs_chain) {
    EXPECT_EQ(result.status, Status::kUnknown);
    EXPECT_THAT(result.detail, HasSubstr("not a chain"));
  } else {
    EXPECT_THAT(result.detail, Not(HasSubstr("not a chain")));
  }
}

TEST_P(Conformance, ProvesInfeasibilityByTheLargestOp) {
  const Graph graph = testing::full_featured();
  const SolveResult result = run(graph, GetParam().name, Bytes{1202});  // grad alone needs 1100 + 103
  EXPECT_EQ(result.status, Status::kInfeasible);
  // More than the largest op needs, but no more than any plan does.
  EXPECT_EQ(result.needed, run(graph, "brute", Bytes{1203}).needed);
  EXPECT_THAT(result.detail, HasSubstr("op 3 'grad'"));
}

TEST_P(Conformance, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const Graph graph = zoo::build("linear?n=3000").value();
  const Result<SolveResult> result =
      solve(graph, {.budget = Bytes{100}, .method = std::string(GetParam().name)}, stop.get_token());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, Status::kUnknown);
  EXPECT_FALSE(result->detail.empty());
}

TEST(Solve, RefusesWrongOptions) {
  const Graph graph = testing::diamond();
  const auto why_not = [&](const SolveOptions& options) {
    const Result<SolveResult> result = solve(graph, options);
    return result ? "it solves" : result.error().message;
  };
  EXPECT_THAT(why_not({.budget = Bytes{0}}), HasSubstr("budget must be positive"));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .method = "magic"}),
              AllOf(HasSubstr("unknown method 'magic'"), HasSubstr("keep-all")));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .time_limit = std::chrono::seconds(0)}), HasSubstr("time limit"));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .time_limit = std::chrono::duration<double>(std::nan(""))}),
              HasSubstr("time limit"));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .threads = 0}), HasSubstr("threads must be at least 1, got 0"));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .threads = 257}),
              HasSubstr("threads must be at most 256, got 257"));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .samples = -1}), HasSubstr("samples must be from 0"));
  EXPECT_THAT(why_not({.budget = Bytes{9}, .samples = INT_MAX}), HasSubstr("samples must be from 0"));
}

TEST(Solve, ReportsTheIncumbent) {
  Cost told;
  const Graph graph = testing::chain(8);
  const Result<SolveResult> result = solve(
      graph, {.budget = Bytes{9}, .on_progress = [&](const Progress& p) { told = p.cost.value_or(told); }});
  EXPECT_EQ(told, result->cost);
}

TEST(Solve, AutoTellsWhichMethodWon) {
  EXPECT_EQ(run(testing::chain(6), "auto", Bytes{100}).method, "keep-all");
}

RC_GTEST_PROP(SolveProperty, MoreBudgetNeverCostsMore, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::mt19937_64 random(seed);
  const Graph graph = random_graph(seed, *rc::gen::inRange<std::size_t>(2, 8), Features::all());
  const std::int64_t most = (graph.fixed_bytes() + keep_all_peak(graph)).count();
  for (const char* method : {"brute", "brute-stages", "linear-greedy", "auto"}) {
    std::optional<Cost> cheapest;
    for (std::int64_t budget = std::max<std::int64_t>(1, graph.fixed_bytes().count()); budget <= most;
         ++budget) {
      const SolveResult result = run(graph, method, Bytes{budget});
      RC_ASSERT(result.plan.has_value() || !cheapest);
      if (!result.plan) continue;
      RC_ASSERT(!cheapest || result.cost <= *cheapest);
      cheapest = result.cost;
    }
  }
}

RC_GTEST_PROP(SolveProperty, WiderClassesOfPlansAreNeverDearer, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::mt19937_64 random(seed);
  const Graph graph = random_graph(seed, *rc::gen::inRange<std::size_t>(2, 8), Features::all());
  const Bytes budget = random_budget(graph, random);
  const SolveResult stages = run(graph, "brute-stages", budget);
  const SolveResult fixed = run(graph, "brute", budget);
  const SolveResult free = run(graph, "brute", budget, Order::kFree);
  if (stages.plan) RC_ASSERT(fixed.plan.has_value() && fixed.cost <= stages.cost);
  if (fixed.plan) RC_ASSERT(free.plan.has_value() && free.cost <= fixed.cost);
  if (stages.plan) RC_ASSERT(stages.stage_lower_bound == stages.cost);
}

TEST(Brute, FindsThatRunningAStageOutOfOrderIsCheaper) {
  // The smallest graph on which the paper's class of plans is not enough.
  GraphBuilder b("out_of_order");
  const std::vector<std::int64_t> bytes = {5, 4, 3, 0, 1};
  const std::vector<std::vector<TensorId>> inputs = {{}, {}, {{0}}, {{0}, {1}}, {{1}, {2}}};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    b.add_op_with_output(
        {.name = "op" + std::to_string(i), .cost = Cost{1}, .inputs = inputs[i], .outputs = {}},
        Bytes{bytes[i]});
  }
  const Graph graph = std::move(b).build().value();
  const SolveResult any = run(graph, "brute", Bytes{11});
  const SolveResult stages = run(graph, "brute-stages", Bytes{11});
  ASSERT_TRUE(any.plan);
  EXPECT_TRUE(!stages.plan || stages.cost > any.cost);
  EXPECT_NE(stages.status, Status::kInfeasible) << "another class of plans has one";
}

TEST(Brute, KnowsTheLeastFeasibleBudget) {
  // x, a(x), b(x), v(a, b) with bytes (2, 2, 2, 0): no op needs more than 4, but a and b and x meet.
  GraphBuilder b("fork");
  const auto add = [&](const char* name, std::vector<TensorId> inputs, std::int64_t bytes) {
    return b.add_op_with_output({.name = name, .cost = Cost{1}, .inputs = std::move(inputs), .outputs = {}},
                                Bytes{bytes});
  };
  const TensorId x = add("x", {}, 2);
  const TensorId a = add("a", {x}, 2);
  const TensorId c = add("b", {x}, 2);
  add("v", {a, c}, 0);
  const Graph graph = std::move(b).build().value();
  const SolveResult result = run(graph, "brute", Bytes{5});
  EXPECT_EQ(result.status, Status::kInfeasible);
  EXPECT_EQ(result.needed, Bytes{6});
  EXPECT_EQ(run(graph, "brute", Bytes{6}).status, Status::kOptimal);
}

/// A chain whose ops cost so much that running some of them again passes 2^63.
Graph dear_chain() {
  const Graph graph = testing::chain(6);
  return graph.with_costs(std::vector(graph.op_count(), Cost{kLargestTotal / 13}), "unit").value();
}

TEST_P(Conformance, NeverReturnsAPlanThatCostsTooMuchToCount) {
  const SolveResult result = run(dear_chain(), GetParam().name, Bytes{5});
  EXPECT_TRUE(!result.plan || result.cost > Cost{0});
}

TEST(Brute, ProvesInfeasibilityWithoutKnowingTheLeastBudget) {
  // Twenty sources beside a fork that needs 90 bytes: the second search, for how much is needed, has too many
  // states.
  GraphBuilder b("wide fork");
  const auto add = [&](std::vector<TensorId> inputs, std::int64_t bytes) {
    return b.add_op_with_output({.name = "", .cost = Cost{1}, .inputs = std::move(inputs), .outputs = {}},
                                Bytes{bytes});
  };
  for (int i = 0; i < 20; ++i) add({}, 10);
  const TensorId x = add({}, 30);
  add({add({x}, 30), add({x}, 30)}, 0);
  const SolveResult result = run(std::move(b).build().value(), "brute", Bytes{60});
  EXPECT_EQ(result.status, Status::kInfeasible);
  EXPECT_GT(*result.needed, Bytes{60});
}

TEST(Brute, LeavesLargeGraphsAlone) {
  const SolveResult result = run(testing::chain(20), "brute", Bytes{10});
  EXPECT_EQ(result.status, Status::kUnknown);
  EXPECT_THAT(result.detail, HasSubstr("limited to 24 ops"));
}

TEST(Chen, SegmentsAChainBySquareRoots) {
  // 16 layers in segments of 4: all but the last segment and the checkpoints run twice, 3 x 3 more runs at
  // cost 1.
  const Graph graph = testing::chain(16);
  const SolveResult result = run(graph, "chen-sqrt", Bytes{100});
  EXPECT_EQ(result.cost, graph.keep_all_cost() + Cost{9});
  EXPECT_LT(result.peak, Bytes{16});
}

TEST(Chen, SearchesTheSegmentSizeThatFits) {
  const Graph graph = testing::chain(30);
  const SolveResult roomy = run(graph, "chen-greedy", Bytes{25});
  const SolveResult tight = run(graph, "chen-greedy", Bytes{15});
  ASSERT_TRUE(roomy.plan && tight.plan);
  EXPECT_LE(roomy.cost, tight.cost);
  const SolveResult none = run(graph, "chen-greedy", Bytes{5});
  EXPECT_EQ(none.status, Status::kUnknown);
  EXPECT_THAT(none.detail, HasSubstr("smallest peak that this method reaches"));
}

TEST(Griewank, RecomputesMoreTheLessThereIs) {
  const Graph graph = testing::chain(30);
  Cost cost{0};
  for (const std::int64_t budget : {20, 12, 8, 6}) {
    const SolveResult result = run(graph, "griewank", Bytes{budget});
    ASSERT_TRUE(result.plan) << budget;
    EXPECT_GE(result.cost, cost);
    cost = result.cost;
  }
}

}  // namespace
}  // namespace checkmate
