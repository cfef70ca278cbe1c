#include "runtime/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace checkmate::runtime {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(Arena, HandsOutTheAddressesThatAreAskedFor) {
  Arena arena(kMebibyte);
  auto* first = static_cast<std::byte*>(arena.take(0, 100));
  auto* second = static_cast<std::byte*>(arena.take(4096, 64));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(second, first + 4096);
  EXPECT_TRUE(arena.contains(first));
  EXPECT_TRUE(arena.contains(second + 63));
  EXPECT_FALSE(arena.contains(&arena));
}

TEST(Arena, NeverHandsOutAByteTwice) {
  Arena arena(kMebibyte);
  void* held = arena.take(128, 128);
  for (const auto& [offset, bytes] :
       std::map<std::size_t, std::size_t>{{0, 129}, {128, 1}, {192, 64}, {255, 10}}) {
    EXPECT_EQ(arena.take(offset, bytes), nullptr) << offset;
  }
  EXPECT_NE(arena.take(0, 128), nullptr);
  EXPECT_NE(arena.take(256, 64), nullptr);
  EXPECT_EQ(arena.give_back(held), 128U);
  EXPECT_NE(arena.take(192, 64), nullptr);
}

TEST(Arena, NothingLiesBehindItsEnd) {
  Arena arena(kMebibyte);
  EXPECT_EQ(arena.take(kMebibyte, 1), nullptr);
  EXPECT_EQ(arena.take(kMebibyte - 1, 2), nullptr);
  EXPECT_EQ(arena.take(64, static_cast<std::size_t>(-64)), nullptr);
  EXPECT_NE(arena.take(kMebibyte - 1, 1), nullptr);
}

TEST(Arena, AgreesWithAMapOfBytesOnRandomRequests) {
  constexpr std::size_t kBytes = 1000;
  std::mt19937 random(7);
  Arena arena(kBytes);
  std::vector<bool> taken(kBytes);
  std::vector<std::tuple<void*, std::size_t, std::size_t>> held;
  for (int round = 0; round < 20000; ++round) {
    const std::size_t offset = random() % kBytes;
    const std::size_t bytes = std::min<std::size_t>(1 + random() % 60, kBytes - offset);
    bool free = true;
    for (std::size_t i = offset; i < offset + bytes; ++i) {
      free = free && !taken[i];
    }
    void* place = arena.take(offset, bytes);
    ASSERT_EQ(place != nullptr, free);
    if (place != nullptr) {
      std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(offset), bytes, true);
      held.emplace_back(place, offset, bytes);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [back, at, size] = held.back();
      held.pop_back();
      ASSERT_EQ(arena.give_back(back), size);
      std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(at), size, false);
    }
  }
}

TEST(Arena, FindsTheLowestGap) {
  Arena arena(kMebibyte);
  EXPECT_EQ(arena.first_gap(kMebibyte), 0U);
  void* gradient = arena.take(0, 1000);
  arena.take(1024, 1000);
  EXPECT_EQ(arena.first_gap(100), 2048U);
  arena.give_back(gradient);
  EXPECT_EQ(arena.first_gap(1024), 0U);
  EXPECT_EQ(arena.first_gap(1025), 2048U);
  EXPECT_EQ(arena.first_gap(kMebibyte), 2048U) << "behind the end is room, once it grows";
}

TEST(Arena, DiscardingFreePagesKeepsWhatIsHeld) {
  Arena arena(kMebibyte);
  auto* held = static_cast<std::byte*>(arena.take(300000, 5000));
  auto* freed = static_cast<std::byte*>(arena.take(0, 200000));
  std::memset(held, 7, 5000);
  std::memset(freed, 9, 200000);
  arena.give_back(freed);
  arena.discard_free_pages();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(held[i], std::byte{7});
  }
  EXPECT_EQ(freed[100000], std::byte{0}) << "the page came anew";
}

TEST(Arena, MayHaveNoBytesAtAll) { EXPECT_EQ(Arena(0).take(0, 1), nullptr); }

TEST(Arena, RefusesWhatTheSystemDoesNotHave) { EXPECT_THROW(Arena(std::size_t{1} << 60), std::bad_alloc); }

}  // namespace
}  // namespace checkmate::runtime
