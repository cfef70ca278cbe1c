#include "solve/api/sufficient_budget.h"

#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "checkmate/solve.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/zoo.h"

namespace checkmate {
namespace {

TEST(SufficientBudget, IsFarBelowKeepAllAndHasAPlan) {
  const Graph graph = zoo::build("linear?n=32").value();  // 65 ops of size 1: keep-all needs 33 units or more
  // A limit of moves makes the search independent of the clock.
  const SolveOptions options{.budget = Bytes{1}, .time_limit = std::chrono::hours(1), .moves = 1'000'000};
  const Bytes needed = graph.fixed_bytes() + structural_minimum(graph).bytes;
  const Bytes keep_all = graph.fixed_bytes() + keep_all_peak(graph);

  const Bytes found = sufficient_budget(SearchContext(graph, options, {}), needed, keep_all);

  EXPECT_GE(found, needed);
  EXPECT_LT(found.count(), keep_all.count() / 2);
  const SolveResult result =
      solve(graph, {.budget = found, .time_limit = std::chrono::hours(1), .gap = 1, .moves = 1'000'000})
          .value();
  ASSERT_TRUE(result.plan);
  EXPECT_LE(result.peak, found);
}

TEST(SufficientBudget, StaysAtWhatIsKnownWhenNoLessIsPossible) {
  const Graph graph = zoo::build("linear?n=4").value();
  const SolveOptions options{.budget = Bytes{1}, .time_limit = std::chrono::hours(1), .moves = 1'000};
  const Bytes known{7};
  EXPECT_EQ(sufficient_budget(SearchContext(graph, options, {}), known, known), known);
}

TEST(SufficientBudget, IsWhatAutoReportsForAnInfeasibleBudget) {
  const Graph graph = zoo::build("linear?n=32").value();
  const SolveResult result =
      solve(graph, {.budget = Bytes{1}, .time_limit = std::chrono::hours(1), .moves = 100'000}).value();
  EXPECT_EQ(result.status, Status::kInfeasible);
  ASSERT_TRUE(result.sufficient);
  EXPECT_LT(result.sufficient->count(), keep_all_peak(graph).count() / 2);
}

}  // namespace
}  // namespace checkmate
