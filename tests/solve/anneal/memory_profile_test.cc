#include "solve/anneal/memory_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace checkmate {
namespace {

using Place = MemoryProfile::Place;
using Blocks = std::vector<std::vector<double>>;

constexpr double kBudget = 10;
constexpr double kPenalty = 3;

double excess(double value) { return value > kBudget ? value - kBudget + kPenalty : 0; }

double excess(const Blocks& blocks) {
  double sum = 0;
  for (const auto& block : blocks) {
    for (const double value : block) sum += excess(value);
  }
  return sum;
}

TEST(MemoryProfile, SumsWhatIsOverTheBudgetAndAPenaltyForEach) {
  MemoryProfile profile(kBudget, kPenalty);
  profile.reset({{3, 12}, {10}, {11, 4}});
  EXPECT_EQ(profile.overflow(), (2 + 3) + (1 + 3));  // 12 and 11; 10 fits
  profile.add({0, 1}, {2, 1}, -2);                   // all but the first and the last: 10, 8, 9
  EXPECT_EQ(profile.overflow(), 0);
  EXPECT_FALSE(profile.worst());
  EXPECT_EQ(profile.overflow_change({0, 0}, {0, 2}, 1), 1 + 3);  // 4, and 11
}

TEST(MemoryProfile, FindsTheWorstPlace) {
  MemoryProfile profile(kBudget, kPenalty);
  profile.reset({{3, 12}, {10}, {13, 4}});
  EXPECT_EQ(profile.worst()->block, 2U);
  EXPECT_EQ(profile.worst()->slot, 0U);
  profile.open({1, 0}, 20);
  EXPECT_EQ(profile.worst()->block, 1U);
  profile.close({1, 0});
  EXPECT_EQ(profile.worst()->block, 2U);
}

/// All positions as places, with one past the last of each block.
class Shadow {
 public:
  explicit Shadow(std::uint64_t seed) : random(seed), blocks(1 + random.below(9)) {
    for (auto& block : blocks) {
      for (std::uint64_t slots = 1 + random.below(6); slots > 0; --slots) {
        block.push_back(static_cast<double>(random.below(14)));
      }
    }
  }
  Place any_place() {
    const auto block = static_cast<std::uint32_t>(random.below(blocks.size()));
    return {block, static_cast<std::uint32_t>(random.below(blocks[block].size()))};
  }
  void add(Place first, Place end, double amount) {
    for (std::uint32_t b = first.block; b <= end.block; ++b) {
      const std::size_t to = b == end.block ? end.slot : blocks[b].size();
      for (std::size_t s = b == first.block ? first.slot : 0; s < to; ++s) blocks[b][s] += amount;
    }
  }

  Random random;
  Blocks blocks;
};

TEST(MemoryProfile, AgreesWithPlainArraysAfterAnyChanges) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Shadow shadow(seed);
    MemoryProfile profile(kBudget, kPenalty);
    profile.reset(shadow.blocks);
    for (int change = 0; change < 60; ++change) {
      const Place place = shadow.any_place();
      auto& block = shadow.blocks[place.block];
      const std::uint64_t kind = shadow.random.below(8);
      if (kind == 0) {
        profile.open(place, 7);
        block.insert(block.begin() + place.slot, 7);
      } else if (kind == 1 && block.size() > 1) {
        profile.close(place);
        block.erase(block.begin() + place.slot);
      } else {
        Place first = place;
        Place end = shadow.any_place();
        if (std::pair(end.block, end.slot) < std::pair(first.block, first.slot)) std::swap(first, end);
        const auto amount = static_cast<double>(shadow.random.between(-4, 4));
        Shadow changed = shadow;
        changed.add(first, end, amount);
        ASSERT_EQ(profile.overflow_change(first, end, amount),
                  excess(changed.blocks) - excess(shadow.blocks));
        profile.add(first, end, amount);
        shadow.blocks = changed.blocks;
      }
      if (shadow.random.one_in(2)) continue;  // several changes may be pending
      ASSERT_EQ(profile.overflow(), excess(shadow.blocks));
      const Place asked = shadow.any_place();
      ASSERT_EQ(profile.at(asked), shadow.blocks[asked.block][asked.slot]);
      double most = 0;
      for (const auto& values : shadow.blocks) {
        most = std::max(most, *std::max_element(values.begin(), values.end()));
      }
      ASSERT_EQ(profile.worst().has_value(), most > kBudget);
      if (most <= kBudget) continue;
      ASSERT_EQ(profile.at(*profile.worst()), most);
      ASSERT_GT(profile.at(*profile.any_over(shadow.random)), kBudget);
    }
  }
}

}  // namespace
}  // namespace checkmate
