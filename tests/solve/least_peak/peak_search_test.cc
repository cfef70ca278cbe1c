#include "solve/least_peak/peak_search.h"

#include <gtest/gtest.h>

#include "checkmate/simulate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

TEST(PeakBoard, BeginsWithKeepAllAndTheLargestOp) {
  const Graph graph = testing::late_use();
  const SolveOptions options{.budget = Bytes{1}};
  const SearchContext search(graph, options, {});
  PeakBoard board(search, {});
  EXPECT_EQ(board.peak(), Bytes{50});    // x, a and b
  EXPECT_EQ(board.needed(), Bytes{40});  // a and b
  EXPECT_EQ(board.steps(), keep_all_plan(graph).steps);
  EXPECT_FALSE(board.done());
}

TEST(PeakBoard, TakesPlansWithSmallerPeaksOnly) {
  using namespace testing::diamond_ops;
  const Graph graph = testing::late_use();
  const SolveOptions options{.budget = Bytes{1}};
  const SearchContext search(graph, options, {});
  PeakBoard board(search, {});
  EXPECT_FALSE(board.offer({kX, kX, kA, kB, kY}, "test"));  // the same peak, and more expensive
  EXPECT_FALSE(board.offer({kA, kX, kB, kY}, "test"));      // no plan
  EXPECT_TRUE(board.offer({kX, kA, kB, kX, kY}, "test"));
  EXPECT_EQ(board.peak(), Bytes{40});
  EXPECT_EQ(board.cost(), Cost{5});
  EXPECT_EQ(board.source(), "test");
  EXPECT_TRUE(board.done());  // as much as the largest op
}

TEST(PeakBoard, IsDoneWhenEnoughIsDecidedOrTheGapClosed) {
  const Graph graph = testing::late_use();
  const SolveOptions options{.budget = Bytes{1}};
  const SearchContext search(graph, options, {});
  EXPECT_TRUE(PeakBoard(search, {.enough = Bytes{50}}).done());
  EXPECT_TRUE(PeakBoard(search, {.enough = Bytes{39}}).done());
  EXPECT_FALSE(PeakBoard(search, {.enough = Bytes{45}}).done());
  EXPECT_TRUE(PeakBoard(search, {.gap = 0.2}).done());
  EXPECT_FALSE(PeakBoard(search, {.gap = 0.19}).done());
  PeakBoard board(search, {.enough = Bytes{45}});
  board.raise(Bytes{46}, "because");
  EXPECT_TRUE(board.done());
  EXPECT_EQ(board.detail(), "because");
}

TEST(PeakSearch, FindsASmallPeakOfAChain) {
  // A hundred layers: keep-all holds them all. The square root of that is enough, and less.
  const Graph graph = testing::chain(100);
  const SolveOptions options{.budget = Bytes{1}, .moves = 1};
  const SearchContext search(graph, options, {});
  PeakBoard board(search, {});
  search_small_peaks(search, board, 1);
  EXPECT_LT(board.peak(), Bytes{20});
  EXPECT_EQ(simulate(graph, *plan_from_steps(graph, board.steps()))->peak, board.peak());
}

}  // namespace
}  // namespace checkmate
