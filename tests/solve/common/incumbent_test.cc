#include "solve/common/incumbent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "checkmate/simulate.h"
#include "support/graphs.h"

// This file also runs under the thread sanitizer.
namespace checkmate {
namespace {

using ::testing::IsEmpty;
using ::testing::Optional;

using namespace testing::diamond_ops;
const std::vector<OpId> keep_all = {kX, kA, kB, kY};     // late_use(): cost 4, peak 50
const std::vector<OpId> x_again = {kX, kA, kB, kX, kY};  // cost 5, peak 40

/// A search on late_use() and its incumbent.
struct Board {
  explicit Board(SolveOptions search_options)
      : options(std::move(search_options)), incumbent(SearchContext(graph, options, stop.get_token())) {}
  std::stop_source stop;
  Graph graph = testing::late_use();
  SolveOptions options;
  Incumbent incumbent;
};

TEST(Incumbent, BeginsWithoutAPlanAndWithKeepAllsCostAsItsBound) {
  Board board({.budget = Bytes{50}});
  EXPECT_FALSE(board.incumbent.has_plan());
  EXPECT_THAT(board.incumbent.steps(), IsEmpty());
  EXPECT_EQ(board.incumbent.bound(), Cost{4});
  EXPECT_EQ(board.incumbent.gap(), 1);
  EXPECT_EQ(board.incumbent.outcome().steps, std::nullopt);
}

TEST(Incumbent, TakesOnlyCheaperPlans) {
  Board board({.budget = Bytes{50}});
  EXPECT_TRUE(board.incumbent.offer(x_again, "first"));
  EXPECT_FALSE(board.incumbent.offer(x_again, "again"));
  EXPECT_DOUBLE_EQ(board.incumbent.gap(), 0.2);  // (5 - 4) / 5
  EXPECT_FALSE(board.incumbent.done());
  EXPECT_TRUE(board.incumbent.offer(keep_all, "second"));
  EXPECT_FALSE(board.incumbent.offer(x_again, "third"));
  EXPECT_EQ(board.incumbent.version(), 2U);
  EXPECT_EQ(board.incumbent.outcome().method, "second");
  EXPECT_THAT(board.incumbent.outcome().steps, Optional(keep_all));
  EXPECT_TRUE(board.incumbent.done());  // the cost is the bound
}

TEST(Incumbent, AGapOfOneIsEnoughOnceThereIsAPlan) {
  Board board({.budget = Bytes{50}, .gap = 1});
  board.incumbent.raise_bound(Cost{5}, "a bound, no plan yet");
  EXPECT_FALSE(board.incumbent.done());
  EXPECT_TRUE(board.incumbent.offer(x_again, "a plan"));
  EXPECT_TRUE(board.incumbent.done());
}

TEST(Incumbent, KeepsWhatIsOverTheBudgetAsAHintOnce) {
  Board board({.budget = Bytes{40}});
  EXPECT_FALSE(board.incumbent.offer(keep_all, "large"));
  EXPECT_THAT(board.incumbent.take_hint(), Optional(keep_all));
  EXPECT_EQ(board.incumbent.take_hint(), std::nullopt);
  EXPECT_EQ(board.incumbent.outcome().sufficient, Bytes{50});
  board.incumbent.note_peak(Bytes{45});
  board.incumbent.note_peak(Bytes{47});
  EXPECT_EQ(board.incumbent.outcome().sufficient, Bytes{45});
}

TEST(Incumbent, RefusesWhatIsNoPlanOfTheOrder) {
  Graph graph = testing::diamond();
  const std::vector<OpId> b_first = {kX, kB, kA, kY};
  for (const Order order : {Order::kFixed, Order::kFree}) {
    const SolveOptions options{.budget = Bytes{30}, .order = order};
    Incumbent incumbent(SearchContext(graph, options, {}));
    EXPECT_FALSE(incumbent.offer({kA, kX, kB, kY}, "a before its input"));
    EXPECT_FALSE(incumbent.offer({kX, kA, kB}, "no y"));
    EXPECT_FALSE(incumbent.offer({kX, kA, kB, OpId{9}}, "no such op"));
    EXPECT_EQ(incumbent.offer(b_first, "b first"), order == Order::kFree);
  }
}

TEST(Incumbent, BoundsOnlyRise) {
  Board board({.budget = Bytes{40}});
  board.incumbent.raise_bound(Cost{5}, "one");
  board.incumbent.raise_bound(Cost{3}, "two");
  EXPECT_EQ(board.incumbent.bound(), Cost{5});
  EXPECT_EQ(board.incumbent.stage_bound(), Cost{5});
  EXPECT_EQ(board.incumbent.outcome().stage_lower_bound, std::nullopt);  // nobody spoke of the paper's class
  board.incumbent.raise_stage_bound(Cost{7}, "stages");
  EXPECT_EQ(board.incumbent.outcome().stage_lower_bound, Cost{7});
  EXPECT_TRUE(board.incumbent.offer(x_again, "plan"));
  EXPECT_EQ(board.incumbent.gap(), 0);
  EXPECT_TRUE(board.incumbent.enough().stop_requested());
}

TEST(Incumbent, EndsTheSearchWithAProofThatThereIsNoPlan) {
  Board board({.budget = Bytes{30}});
  board.incumbent.prove_infeasible(Bytes{40}, "b alone needs 40");
  board.incumbent.prove_infeasible(Bytes{35}, "and this is weaker");
  EXPECT_TRUE(board.incumbent.done());
  EXPECT_EQ(board.incumbent.outcome().needed, Bytes{40});
}

TEST(Incumbent, IsDoneWhenTheSearchIsStopped) {
  Board board({.budget = Bytes{40}});
  EXPECT_FALSE(board.incumbent.done());
  board.stop.request_stop();
  EXPECT_TRUE(board.incumbent.done());
}

TEST(Incumbent, ThreadsAgreeOnTheCheapestPlanAndTheHighestBound) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kOffers = 50;
  const Graph graph = testing::chain(10);
  SolveOptions options{.budget = Bytes{1000}};
  // Without a lock of its own: the incumbent makes one call at a time, each with what only gets better.
  Cost best = Incumbent::kNone;
  Cost bound;
  bool orderly = true;
  options.on_progress = [&](const Progress& progress) {
    orderly = orderly && progress.cost.value_or(best) <= best && *progress.bound >= bound;
    best = progress.cost.value_or(best);
    bound = *progress.bound;
  };
  Incumbent incumbent(SearchContext(graph, options, {}));
  const auto steps_of = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    return testing::random_steps(graph, random, 1.0);
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < kOffers; ++i) {
          incumbent.offer(steps_of(thread * kOffers + i), "random");
          incumbent.raise_bound(graph.keep_all_cost() + Cost{static_cast<std::int64_t>(i % 3)}, "bound");
          incumbent.count_moves(1);
          EXPECT_LE(incumbent.steps().size(), 1000U);
          EXPECT_GE(incumbent.gap(), 0);
        }
      });
    }
  }
  Cost cheapest = Incumbent::kNone;
  for (std::uint64_t seed = 0; seed < kThreads * kOffers; ++seed)
    cheapest = std::min(cheapest, simulate(graph, plan_from_steps(graph, steps_of(seed)).value())->cost);
  EXPECT_EQ(incumbent.cost(), cheapest);
  EXPECT_EQ(incumbent.bound(), graph.keep_all_cost() + Cost{2});
  EXPECT_EQ(incumbent.outcome().moves, kThreads * kOffers);
  EXPECT_TRUE(orderly);
  EXPECT_EQ(best, cheapest);
}

TEST(Incumbent, LosesPatienceOnceThereIsAPlan) {
  Board board({.budget = Bytes{45}, .patience = 1e-3});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(board.incumbent.done());
  EXPECT_TRUE(board.incumbent.offer(x_again, "test"));
  while (!board.incumbent.done()) std::this_thread::yield();
  EXPECT_TRUE(board.incumbent.enough().stop_requested());
  EXPECT_EQ(board.incumbent.outcome().stop_reason, StopReason::kPatience);
}

TEST(Incumbent, HasNoPatienceToLoseWhereMovesAreCounted) {
  Board board({.budget = Bytes{45}, .patience = 1e-9, .moves = 1});
  EXPECT_TRUE(board.incumbent.offer(x_again, "test"));
  EXPECT_FALSE(board.incumbent.done());
}

TEST(Incumbent, KeepsTheSmallestPlanThatDoesNotFit) {
  Board board({.budget = Bytes{30}});
  EXPECT_FALSE(board.incumbent.offer(keep_all, "test"));
  EXPECT_EQ(board.incumbent.outcome().sufficient_steps, keep_all);
  board.incumbent.note_peak_of(x_again);
  EXPECT_EQ(board.incumbent.outcome().sufficient_steps, x_again);
  board.incumbent.note_peak(Bytes{35});  // nobody knows the plan
  EXPECT_EQ(board.incumbent.outcome().sufficient, Bytes{35});
  EXPECT_EQ(board.incumbent.outcome().sufficient_steps, std::nullopt);
}

TEST(Incumbent, KnowsWhatIsNeededEvenIfThatIsWithinTheBudget) {
  Board board({.budget = Bytes{30}});
  board.incumbent.raise_needed(Bytes{25});
  board.incumbent.raise_needed(Bytes{20});
  EXPECT_EQ(board.incumbent.outcome().needed, Bytes{25});
  EXPECT_FALSE(board.incumbent.done());
}

}  // namespace
}  // namespace checkmate
