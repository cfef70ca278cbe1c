#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "checkmate/checkmate.h"
#include "support/graphs.h"

// The method `auto`: that its members work together. What each promises by itself is in its own test. This
// file also runs under the thread sanitizer.
namespace checkmate {
namespace {

SolveOptions options(const Graph& graph, const char* budget, int threads) {
  SolveOptions options;
  options.budget = parse_budget(graph, budget).value();
  options.threads = threads;
  return options;
}

TEST(Portfolio, TwoThreadsGiveAValidPlanAndABoundBelowIt) {
  const Graph graph = zoo::build("resnet50").value();
  SolveOptions two = options(graph, "40%", 2);
  two.time_limit = std::chrono::milliseconds(800);
  std::optional<Cost> best;
  std::optional<Cost> bound;
  bool orderly = true;  // the callback is called by one thread at a time, with what only gets better
  std::mutex busy;
  two.on_progress = [&](const Progress& progress) {
    const std::unique_lock alone(busy, std::try_to_lock);
    orderly = orderly && alone.owns_lock();
    if (progress.cost) orderly = orderly && (!best || *progress.cost <= *best);
    if (progress.bound) orderly = orderly && (!bound || *progress.bound >= *bound);
    if (progress.cost) best = progress.cost;
    if (progress.bound) bound = progress.bound;
  };
  const SolveResult result = solve(graph, two).value();
  EXPECT_TRUE(orderly);
  ASSERT_TRUE(result.plan);
  EXPECT_TRUE(validate(graph, *result.plan, two.budget).empty());
  EXPECT_EQ(best, result.cost);
  EXPECT_GT(result.lower_bound, graph.keep_all_cost());
  EXPECT_LE(result.lower_bound, result.cost);
}

TEST(Portfolio, ThreadsShareOneSearchOfFreeOrder) {
  const Graph graph = zoo::build("random_layered?n=60&seed=3").value();
  SolveOptions two = options(graph, "80%", 3);
  two.order = Order::kFree;
  two.time_limit = std::chrono::milliseconds(400);
  const SolveResult result = solve(graph, two).value();
  ASSERT_TRUE(result.plan);
  EXPECT_TRUE(validate(graph, *result.plan, two.budget, Order::kFree).empty());
}

TEST(Portfolio, StopsAllThreadsWhenAsked) {
  const Graph graph = zoo::build("resnet50").value();
  std::stop_source stop;
  SolveOptions two = options(graph, "20%", 2);
  two.time_limit = std::chrono::hours(1);
  two.on_progress = [&](const Progress& progress) {
    if (progress.cost) stop.request_stop();
  };
  const SolveResult result = solve(graph, two, stop.get_token()).value();  // or the test runs for an hour
  EXPECT_TRUE(result.plan);
}

TEST(Portfolio, OneThreadAndALimitOfMovesRepeatTheSameSearch) {
  const Graph graph = zoo::build("random_layered?n=80&seed=7").value();
  for (const Order order : {Order::kFixed, Order::kFree}) {
    SolveOptions one = options(graph, "75%", 1);
    one.order = order;
    one.moves = 30'000;
    one.seed = 5;
    const SolveResult first = solve(graph, one).value();
    const SolveResult second = solve(graph, one).value();
    ASSERT_TRUE(first.plan);
    EXPECT_EQ(first.plan, second.plan);
    EXPECT_EQ(first.lower_bound, second.lower_bound);
    EXPECT_EQ(first.moves, second.moves);
  }
}

TEST(Portfolio, SeveralThreadsAndALimitOfMovesRepeatTheSameSearch) {
  const Graph graph = zoo::build("random_layered?n=80&seed=7").value();
  for (const Order order : {Order::kFixed, Order::kFree}) {
    SolveOptions three = options(graph, "75%", 3);
    three.order = order;
    three.moves = 10'000;
    const SolveResult first = solve(graph, three).value();
    const SolveResult second = solve(graph, three).value();
    ASSERT_TRUE(first.plan);
    EXPECT_EQ(first.plan, second.plan);
    EXPECT_EQ(first.lower_bound, second.lower_bound);
    EXPECT_EQ(first.moves, second.moves);
    EXPECT_EQ(first.stop_reason, StopReason::kMovesLimit);
  }
}

TEST(Portfolio, ASlowCallbackDoesNotHoldUpTheSearch) {
  const Graph graph = zoo::build("resnet50").value();
  for (const int threads : {1, 2}) {
    SolveOptions slow = options(graph, "30%", threads);
    slow.time_limit = std::chrono::seconds(1);
    std::optional<Progress> last;
    slow.on_progress = [&](const Progress& progress) {
      last = progress;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    };
    const SolveResult result = solve(graph, slow).value();
    EXPECT_LT(result.seconds, 8);  // 1, one report in time, and the last; there are dozens of plans
    ASSERT_TRUE(last);
    EXPECT_EQ(last->cost, result.cost);
    EXPECT_EQ(last->bound, result.lower_bound);
  }
}

TEST(Portfolio, ACallbackCanTakeThePlanAndStopTheSearch) {
  const Graph graph = zoo::build("resnet50").value();
  SolveOptions two = options(graph, "30%", 2);
  two.time_limit = std::chrono::hours(1);
  std::optional<Plan> taken;
  two.on_progress = [&](const Progress& progress) {
    const std::optional<Plan> plan = progress.plan();
    EXPECT_EQ(plan.has_value(), progress.cost.has_value());
    if (!plan) return;
    EXPECT_LE(simulate(graph, *plan)->cost, *progress.cost);  // another thread may have found a better one
    EXPECT_TRUE(validate(graph, *plan, two.budget).empty());
    taken = plan;
    progress.stop();
  };
  const SolveResult result = solve(graph, two).value();  // or the test runs for an hour
  EXPECT_EQ(result.stop_reason, StopReason::kCancelled);
  EXPECT_TRUE(taken);
}

TEST(Portfolio, ProvesSmallNetworksOptimal) {
  const Graph graph = zoo::build("vgg16").value();
  EXPECT_EQ(solve(graph, options(graph, "90%", 2))->status, Status::kOptimal);
  const Graph chain = zoo::build("linear?n=12").value();
  EXPECT_EQ(solve(chain, options(chain, "6", 2))->status, Status::kOptimal);
}

TEST(Portfolio, FreeOrderIsNeverDearerThanFixedOrder) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = testing::random_graph(seed, 4 + seed % 5, testing::Features::all());
    SolveOptions one = options(graph, "70%", 1);
    one.moves = 5000;
    const SolveResult fixed = solve(graph, one).value();
    one.order = Order::kFree;
    const SolveResult free = solve(graph, one).value();
    if (!fixed.plan) continue;
    ASSERT_TRUE(free.plan);
    EXPECT_LE(free.cost, fixed.cost);
  }
}

TEST(Portfolio, BeginsWithThePlanItIsGiven) {
  const Graph graph = zoo::build("resnet50").value();
  SolveOptions quick = options(graph, "25%", 1);
  quick.moves = 20'000;
  const SolveResult first = solve(graph, quick).value();
  ASSERT_TRUE(first.plan);
  quick.start = first.plan->steps;
  quick.moves = 1;
  EXPECT_LE(solve(graph, quick)->cost, first.cost);
}

TEST(Portfolio, AnswersAnInfeasibleBudgetWithTheLeastThatIsEnough) {
  // Every op fits in 4 by itself, but v needs a and b, and while the second of them is made from x the first
  // is there: 6.
  const Graph graph = testing::fork();
  const SolveResult result = solve(graph, {.budget = Bytes{5}}).value();
  EXPECT_EQ(result.status, Status::kInfeasible);
  EXPECT_EQ(result.needed, Bytes{6});
  EXPECT_EQ(result.sufficient, Bytes{6});
  // Below what one op needs, too.
  EXPECT_EQ(solve(graph, {.budget = Bytes{3}})->needed, Bytes{6});
}

}  // namespace
}  // namespace checkmate
