#include "checkmate/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/validate.h"
#include "support/graphs.h"

namespace checkmate {

/// What a failure is about; by default it would be the bytes of the struct.
static std::ostream& operator<<(std::ostream& stream, const MethodInfo& method) {
  return stream << method.name;
}

namespace {

using testing::below;
using testing::Features;
using ::testing::HasSubstr;
using testing::random_budget;
using testing::random_graph;
using testing::share_of;
using testing::solved;

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
  const SolveResult result = solved(graph, method.name, budget, order);
  const SolveResult best = solved(graph, "brute", budget, order);
  ASSERT_NE(best.status, Status::kUnknown);
  EXPECT_GE(result.lower_bound, graph.keep_all_cost());
  EXPECT_LE(result.lower_bound, best.plan ? best.cost : Cost{INT64_MAX});
  if (result.stage_lower_bound) {
    const SolveResult staged = solved(graph, "brute-stages", budget);
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
    const SolveResult result = solved(graph, GetParam().name, graph.fixed_bytes() + keep_all_peak(graph));
    EXPECT_EQ(result.status, Status::kOptimal);
    EXPECT_EQ(result.cost, graph.keep_all_cost());
  }
}

TEST_P(Conformance, GivesTheSamePlanAgain) {
  const Graph graph = testing::chain(7);
  const SolveResult first = solved(graph, GetParam().name, Bytes{8});
  const SolveResult second = solved(graph, GetParam().name, Bytes{8});
  EXPECT_EQ(first.plan, second.plan);
  EXPECT_EQ(first.status, second.status);
}

TEST_P(Conformance, ChainMethodsSayWhyTheyLeaveOtherGraphsAlone) {
  const SolveResult result = solved(testing::skip_chain(8), GetParam().name, Bytes{8});
  if (GetParam().needs_chain) {
    EXPECT_EQ(result.status, Status::kUnknown);
    EXPECT_THAT(result.detail, HasSubstr("not a chain"));
  } else {
    EXPECT_THAT(result.detail, Not(HasSubstr("not a chain")));
  }
}

TEST_P(Conformance, ProvesInfeasibilityByTheLargestOp) {
  const Graph graph = testing::full_featured();
  const SolveResult result = solved(graph, GetParam().name, Bytes{1202});  // grad alone needs 1100 + 103
  EXPECT_EQ(result.status, Status::kInfeasible);
  // More than the largest op needs, but no more than any plan does.
  EXPECT_EQ(result.needed, solved(graph, "brute", Bytes{1203}).needed);
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

TEST(Solve, TellsWhyItStopped) {
  const Graph chain = testing::chain(8);
  const auto reason = [](const Graph& graph, const SolveOptions& options, std::stop_token stop = {}) {
    return solve(graph, options, std::move(stop))->stop_reason;
  };
  EXPECT_EQ(reason(chain, {.budget = Bytes{100}}), StopReason::kGapClosed);
  EXPECT_EQ(reason(testing::fork(), {.budget = Bytes{5}}), StopReason::kInfeasible);
  EXPECT_EQ(reason(chain, {.budget = Bytes{1}}), StopReason::kInfeasible);  // of one op alone
  EXPECT_EQ(reason(chain, {.budget = Bytes{5}, .method = "keep-all"}), StopReason::kExhausted);

  const Graph large = zoo::build("random_layered?n=200&seed=7").value();
  SolveOptions options{.budget = parse_budget(large, "70%").value()};
  options.time_limit = std::chrono::milliseconds(100);
  EXPECT_EQ(reason(large, options), StopReason::kTimeLimit);
  options.time_limit = std::chrono::minutes(1);
  std::stop_source stop;
  options.on_progress = [&](const Progress&) { stop.request_stop(); };
  EXPECT_EQ(reason(large, options, stop.get_token()), StopReason::kCancelled);
  options.on_progress = {};
  options.moves = 1000;
  EXPECT_EQ(reason(large, options), StopReason::kMovesLimit);
  // Its model has some 200 x 200 columns: a microsecond is over before they are there.
  options = {.budget = options.budget, .method = "milp", .time_limit = std::chrono::microseconds(1)};
  EXPECT_EQ(reason(large, options), StopReason::kTimeLimit);
}

TEST(Solve, HasNoCostAndNoPeakWithoutAPlan) {
  const SolveResult none = solved(testing::chain(8), "keep-all", Bytes{5});
  EXPECT_FALSE(none.plan);
  EXPECT_EQ(none.cost, std::nullopt);
  EXPECT_EQ(none.peak, std::nullopt);
}

TEST(Solve, AutoTellsWhichMethodWon) {
  EXPECT_EQ(solved(testing::chain(6), "auto", Bytes{100}).method, "keep-all");
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
      const SolveResult result = solved(graph, method, Bytes{budget});
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
  const SolveResult stages = solved(graph, "brute-stages", budget);
  const SolveResult fixed = solved(graph, "brute", budget);
  const SolveResult free = solved(graph, "brute", budget, Order::kFree);
  if (stages.plan) RC_ASSERT(fixed.plan.has_value() && fixed.cost <= stages.cost);
  if (fixed.plan) RC_ASSERT(free.plan.has_value() && free.cost <= fixed.cost);
  if (stages.plan) RC_ASSERT(stages.stage_lower_bound == stages.cost);
}

/// A chain whose ops cost so much that running some of them again passes 2^63.
Graph dear_chain() {
  const Graph graph = testing::chain(6);
  return graph.with_costs(std::vector(graph.op_count(), Cost{kLargestTotal / 13}), "unit").value();
}

TEST_P(Conformance, NeverReturnsAPlanThatCostsTooMuchToCount) {
  const SolveResult result = solved(dear_chain(), GetParam().name, Bytes{5});
  EXPECT_TRUE(!result.plan || result.cost > Cost{0});
}

TEST(Solve, PlansAGraphOfNoBytesInNoMemory) {
  GraphBuilder builder("of 0 bytes");
  const TensorId x =
      builder.add_op_with_output({.name = "f", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{0});
  builder.add_op_with_output({.name = "g", .cost = Cost{2}, .inputs = {x}, .outputs = {}}, Bytes{0});
  const Graph graph = std::move(builder).build().value();
  for (const MethodInfo& method : methods()) {
    const SolveResult result = solve(graph, {.budget = Bytes{0}, .method = std::string(method.name)}).value();
    EXPECT_NE(result.status, Status::kInfeasible) << method.name;
  }
  EXPECT_EQ(solve(graph, {.budget = Bytes{0}})->status, Status::kOptimal);
}

}  // namespace
}  // namespace checkmate
