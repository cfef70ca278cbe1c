#include "solve/baselines/revolve.h"

#include <gtest/gtest.h>

#include <map>

namespace checkmate {
namespace {

/// T(l, s) = min over j of j + T(l-j, s-1) + T(j, s), by the recurrence itself.
std::uint64_t least_advances(std::uint32_t length, std::uint32_t slots) {
  static std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> known;
  if (length <= 1) return 0;
  if (slots == 1) return std::uint64_t{length} * (length - 1) / 2;
  const auto [entry, added] = known.try_emplace({length, slots}, UINT64_MAX);
  if (added) {
    std::uint64_t best = UINT64_MAX;
    for (std::uint32_t j = 1; j < length; ++j)
      best = std::min(best, j + least_advances(length - j, slots - 1) + least_advances(j, slots));
    known[{length, slots}] = best;
    return best;
  }
  return entry->second;
}

/// Block runs of the schedule as it stands: to reverse block j, advance from the nearest stored state below
/// it.
std::uint64_t count_advances(std::uint32_t length, std::uint32_t slots) {
  const auto stored_for = revolve(length, slots);
  std::vector<bool> stored(length + 1);
  stored[0] = true;
  std::uint64_t advances = 0;
  for (std::uint32_t block = length; block >= 1; --block) {
    std::uint32_t from = block - 1;
    while (!stored[from]) --from;
    advances += block - 1 - from;
    for (const std::uint32_t state : stored_for[block]) {
      EXPECT_GT(state, from);
      EXPECT_LT(state, block);
      stored[state] = true;
    }
    EXPECT_LE(std::count(stored.begin(), stored.end(), true), slots);
    if (block > 1 && stored[block - 1]) stored[block - 1] = false;
  }
  return advances;
}

TEST(Revolve, IsAsGoodAsTheRecurrenceAndNeverUsesMoreSlots) {
  for (std::uint32_t length = 1; length <= 40; ++length) {
    for (std::uint32_t slots = 1; slots <= 10; ++slots) {
      SCOPED_TRACE(testing::Message() << length << " blocks, " << slots << " slots");
      EXPECT_EQ(count_advances(length, slots), least_advances(length, slots));
      EXPECT_EQ(revolve_advances(length, slots), least_advances(length, slots));
    }
  }
}

TEST(Revolve, ReversesLongChainsWithFewRepeats) {
  // 3 slots and 10 repeats reach C(13, 3) = 286 blocks: r l - C(s+1+r-1, s+1) = 10 x 286 - C(13, 4) = 2860 -
  // 715.
  EXPECT_EQ(revolve_advances(286, 3), 2145U);
  EXPECT_EQ(count_advances(286, 3), 2145U);
}

}  // namespace
}  // namespace checkmate
