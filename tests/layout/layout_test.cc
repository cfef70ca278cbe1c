#include "checkmate/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/graphs.h"

namespace checkmate {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Bytes and not a moment of time: what tests ask for.
LayoutOptions by_moves(std::uint64_t moves = 2000) {
  return {.time_limit = std::chrono::hours(1), .alignment = 1_B, .moves = moves};
}

std::vector<Block> random_blocks(std::mt19937_64& random, std::size_t count, std::uint64_t moments,
                                 std::uint64_t largest) {
  using testing::below;
  std::vector<Block> blocks(count);
  for (Block& block : blocks) {
    block.size = Bytes{static_cast<std::int64_t>(below(random, largest + 1))};
    block.first = static_cast<std::uint32_t>(below(random, moments));
    block.last = static_cast<std::uint32_t>(block.first + below(random, moments - block.first + 1));
  }
  return blocks;
}

std::int64_t peak_by_hand(std::span<const Block> blocks, std::int64_t alignment) {
  std::int64_t peak = 0;
  for (const Block& at : blocks) {
    std::int64_t live = 0;
    for (const Block& block : blocks) {
      if (block.first <= at.first && at.first < block.last)
        live += (block.size.count() + alignment - 1) / alignment * alignment;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

/// The smallest size of all: every order of the blocks, each in the lowest place above those before it that
/// it conflicts with, contains a smallest layout.
std::int64_t smallest_size(const std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t smallest = INT64_MAX;
  do {
    std::vector<std::int64_t> top(blocks.size());
    std::int64_t size = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Block& block = blocks[order[i]];
      if (block.first == block.last) continue;
      std::int64_t floor = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const Block& below = blocks[order[j]];
        if (below.first < block.last && block.first < below.last) floor = std::max(floor, top[order[j]]);
      }
      top[order[i]] = floor + block.size.count();
      size = std::max(size, top[order[i]]);
    }
    smallest = std::min(smallest, size);
  } while (std::next_permutation(order.begin(), order.end()));
  return smallest;
}

TEST(LayOut, SharesMemoryBetweenBlocksThatDoNotMeet) {
  // a and b live together, c begins when a ends: 30 + 20 bytes, c in a's place.
  const std::vector<Block> blocks = {{30_B, 0, 2}, {20_B, 1, 4}, {25_B, 2, 4}};
  const LayoutResult result = *lay_out(blocks, by_moves());
  EXPECT_EQ(result.peak, 50_B);
  EXPECT_EQ(result.layout.size, 50_B);
  EXPECT_TRUE(result.optimal);
  EXPECT_TRUE(check_layout(blocks, result.layout));
}

TEST(LayOut, RoundsSizesUpToTheAlignment) {
  const std::vector<Block> blocks = {{1_B, 0, 1}, {65_B, 0, 1}};
  const LayoutResult result = *lay_out(blocks, {});
  EXPECT_EQ(result.peak, 192_B);  // 64 + 128
  EXPECT_EQ(result.layout.size, 192_B);
  EXPECT_EQ(result.layout.alignment, 64_B);
}

TEST(LayOut, TakesAnyBlocks) {
  EXPECT_EQ(lay_out({})->layout.size, 0_B);
  EXPECT_TRUE(lay_out({})->optimal);
  // Without bytes or without a life, a block takes no memory.
  const std::vector<Block> nothing = {{0_B, 0, 9}, {10_B, 3, 3}};
  EXPECT_THAT(lay_out(nothing)->layout.offsets, ElementsAre(0_B, 0_B));
  EXPECT_EQ(lay_out(nothing)->peak, 0_B);
  const std::vector<Block> latest = {{10_B, UINT32_MAX - 1, UINT32_MAX}, {10_B, 0, UINT32_MAX}};
  EXPECT_EQ(lay_out(latest, by_moves())->layout.size, 20_B);
}

TEST(LayOut, RefusesSizesThatOverflow) {
  const Bytes half{kLargestTotal / 2};
  EXPECT_EQ(lay_out(std::vector<Block>{{half, 0, 1}, {half, 0, 1}}, by_moves())->layout.size, half + half);
  const auto result = lay_out(std::vector<Block>{{half, 0, 1}, {half, 0, 1}, {1_B, 7, 8}}, by_moves());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(result.error().message, HasSubstr("block 2 of 1 byte:"));
  EXPECT_FALSE(lay_out(std::vector<Block>{{Bytes{INT64_MAX}, 0, 1}}));
}

TEST(LayOut, RefusesWrongArguments) {
  EXPECT_THAT(lay_out(std::vector<Block>{{1_B, 2, 1}}).error().message, HasSubstr("before it begins"));
  EXPECT_THAT(lay_out(std::vector<Block>{{Bytes{-1}, 0, 1}}).error().message, HasSubstr("block 0 has -1"));
  EXPECT_FALSE(lay_out({}, {.alignment = 0_B}));
  EXPECT_FALSE(lay_out({}, {.time_limit = std::chrono::seconds(-1)}));
  EXPECT_FALSE(lay_out({}, {.capacity = Bytes{-1}}));
}

TEST(LayOut, IsNeverBelowThePeakAndPassesTheCheck) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < testing::share_of(400); ++i) {
    const auto blocks = random_blocks(random, testing::below(random, 40), 1 + testing::below(random, 30), 50);
    const std::int64_t alignment = testing::below(random, 2) == 0 ? 1 : 8;
    LayoutOptions options = by_moves(100);
    options.alignment = Bytes{alignment};
    const LayoutResult result = *lay_out(blocks, options);
    EXPECT_EQ(result.peak.count(), peak_by_hand(blocks, alignment));
    EXPECT_GE(result.layout.size, result.peak);
    EXPECT_TRUE(check_layout(blocks, result.layout));
  }
}

TEST(LayOut, IsTheSmallestOfFewBlocks) {
  std::mt19937_64 random(6);
  for (std::uint64_t i = 0; i < testing::share_of(400); ++i) {
    const auto blocks = random_blocks(random, 7, 9, 9);
    const LayoutResult result = *lay_out(blocks, by_moves(100'000));
    EXPECT_TRUE(result.optimal);
    EXPECT_EQ(result.layout.size.count(), smallest_size(blocks));
  }
}

TEST(LayOut, ProvesThatThePeakIsNotEnough) {
  // At most 4 bytes live at once, but there is no way to place them in 4.
  const std::vector<Block> blocks = {{1_B, 2, 5}, {1_B, 1, 4}, {2_B, 3, 6}, {2_B, 0, 2}, {1_B, 4, 5},
                                     {2_B, 0, 1}, {1_B, 1, 3}, {2_B, 5, 7}, {2_B, 6, 7}};
  const LayoutResult result = *lay_out(blocks, by_moves(100'000));
  EXPECT_EQ(result.peak, 4_B);
  EXPECT_EQ(result.layout.size, 5_B);
  EXPECT_TRUE(result.optimal);
  EXPECT_EQ(smallest_size(blocks), 5);
}

TEST(LayOut, IsTheSameForTheSameSeed) {
  std::mt19937_64 random(7);
  const auto blocks = random_blocks(random, 300, 200, 1'000'000);
  const LayoutResult result = *lay_out(blocks, by_moves(1000));
  EXPECT_EQ(result.moves, 1000U);  // more would make it smaller still
  EXPECT_EQ(result.layout, lay_out(blocks, by_moves(1000))->layout);
}

TEST(LayOut, StopsAtTheCapacity) {
  std::mt19937_64 random(7);
  const auto blocks = random_blocks(random, 300, 200, 1'000'000);
  const LayoutResult best = *lay_out(blocks, by_moves(1000));
  LayoutOptions options = by_moves(1000);
  options.capacity = best.layout.size;
  const LayoutResult result = *lay_out(blocks, options);
  EXPECT_LE(result.layout.size, *options.capacity);
  EXPECT_LT(result.moves, best.moves);
}

TEST(LayOut, TakesManySmallBlocks) {
  std::mt19937_64 random(8);
  auto blocks = random_blocks(random, 5000, 10, 100);  // none is a thousandth of the peak
  EXPECT_TRUE(check_layout(blocks, lay_out(blocks, by_moves(100))->layout));
  blocks.push_back({50'000_B, 0, 10});
  EXPECT_TRUE(check_layout(blocks, lay_out(blocks, by_moves(100))->layout));
}

TEST(LayOut, StopsAtOnceWithALayout) {
  std::mt19937_64 random(2);
  const auto blocks = random_blocks(random, 300, 100, 1000);
  std::stop_source stop;
  stop.request_stop();
  const LayoutResult stopped = *lay_out(blocks, by_moves(0), stop.get_token());
  EXPECT_TRUE(check_layout(blocks, stopped.layout));
  const LayoutResult late = *lay_out(blocks, {.time_limit = std::chrono::seconds(0)});
  EXPECT_TRUE(check_layout(blocks, late.layout));
}

TEST(LayOut, ReportsEverySmallerLayout) {
  std::mt19937_64 random(3);
  const auto blocks = random_blocks(random, 100, 50, 1000);
  std::vector<Bytes> sizes;
  LayoutOptions options = by_moves();
  options.on_progress = [&](const LayoutProgress& progress) { sizes.push_back(progress.size); };
  const LayoutResult result = *lay_out(blocks, options);
  ASSERT_FALSE(sizes.empty());
  EXPECT_EQ(sizes.back(), result.layout.size);
  EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
}

TEST(CheckLayout, RefusesWhatIsWrong) {
  const std::vector<Block> blocks = {{10_B, 0, 2}, {10_B, 1, 3}, {10_B, 2, 3}};
  const auto problem = [&](const Layout& layout) {
    const Result<void> checked = check_layout(blocks, layout);
    return checked ? "none" : checked.error().message;
  };
  EXPECT_EQ(problem({{0_B, 10_B, 0_B}, 20_B}), "none");
  EXPECT_THAT(problem({{0_B, 9_B, 0_B}, 20_B}), HasSubstr("blocks 0 and 1 overlap at moment 1"));
  EXPECT_THAT(problem({{0_B, 10_B, 15_B}, 25_B}), HasSubstr("blocks 1 and 2 overlap at moment 2"));
  EXPECT_THAT(problem({{0_B, 10_B, 10_B}, 20_B}), HasSubstr("overlap"));  // the same offset
  EXPECT_THAT(problem({{0_B, 10_B, 0_B}, 19_B}), HasSubstr("block 1 of 10 bytes at offset 10 ends outside"));
  EXPECT_THAT(problem({{0_B, 10_B}, 20_B}), HasSubstr("2 offsets for 3 blocks"));
  EXPECT_THAT(problem({{0_B, 12_B, 0_B}, 24_B, 8_B}), HasSubstr("offset 12, which is not a multiple of 8"));
  EXPECT_THAT(problem({{0_B, 10_B, Bytes{-8}}, 20_B}), HasSubstr("offset -8"));
  EXPECT_THAT(problem({{0_B, Bytes{INT64_MAX}, 0_B}, 20_B}), HasSubstr("outside"));
  EXPECT_THAT(problem({{0_B, 10_B, 0_B}, 20_B, 0_B}), HasSubstr("must be positive"));
}

TEST(CheckLayout, FindsTheOverlapsThatComparingEveryPairFinds) {
  std::mt19937_64 random(4);
  for (std::uint64_t i = 0; i < testing::share_of(2000); ++i) {
    const auto blocks = random_blocks(random, 6, 8, 6);
    Layout layout{{}, 24_B};
    for (std::size_t b = 0; b < blocks.size(); ++b)
      layout.offsets.emplace_back(static_cast<std::int64_t>(testing::below(random, 18)));
    bool overlap = false;
    for (std::size_t a = 0; a < blocks.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool meet =
            std::max(blocks[a].first, blocks[b].first) < std::min(blocks[a].last, blocks[b].last);
        const Bytes from = std::max(layout.offsets[a], layout.offsets[b]);
        const Bytes to = std::min(layout.offsets[a] + blocks[a].size, layout.offsets[b] + blocks[b].size);
        overlap = overlap || (meet && from < to);
      }
    }
    EXPECT_EQ(!check_layout(blocks, layout), overlap);
  }
}

TEST(BlocksOf, AreOutputsAndWorkspaceStepByStep) {
  const Graph graph = testing::late_use();  // x -> a -> b -> y(b, x); 10, 20, 20, 10 bytes
  const OpId x{0}, a{1}, b{2}, y{3};
  const Plan plan = *plan_from_steps(graph, {x, a, b, x, y});
  EXPECT_THAT(*blocks_of(graph, plan), ElementsAre(Block{10_B, 0, 2}, Block{20_B, 1, 3}, Block{20_B, 2, 5},
                                                   Block{10_B, 3, 5}, Block{10_B, 4, 5}));
}

TEST(BlocksOf, PeakAsTheSimulationDoes) {
  std::mt19937_64 random(5);
  for (std::uint64_t seed = 0; seed < testing::share_of(100); ++seed) {
    const Graph graph = testing::random_graph(seed, 12, testing::Features::all());
    const Plan plan = *plan_from_steps(graph, testing::random_steps(graph, random));
    const LayoutResult result = *lay_out(*blocks_of(graph, plan), by_moves(10));
    EXPECT_EQ(result.peak, simulate(graph, plan)->peak - graph.fixed_bytes());
  }
}

TEST(BlocksOf, RefusesAPlanThatCannotRun) {
  const Graph graph = testing::diamond();
  EXPECT_EQ(blocks_of(graph, {}).error().code, ErrorCode::kInvalidPlan);
}

}  // namespace
}  // namespace checkmate
