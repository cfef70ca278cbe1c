#include "runtime/arenas.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace checkmate::runtime {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::size_t kSmall = std::size_t{64} << 10;

class Arenas : public testing::Test {
 protected:
  void SetUp() override { release_arenas(); }
  void TearDown() override {
    release_arenas();
    EXPECT_EQ(arena_bytes(), 0U) << "something is still held";
  }
};

TEST_F(Arenas, StepsThatDoNotRunAtOnceShareOne) {
  for (const std::size_t bytes : {kMebibyte, 3 * kMebibyte, 2 * kMebibyte}) {
    Lease step = lease(bytes);
    void* place = step.take(0, bytes);
    ASSERT_NE(place, nullptr);
    give_back(place);
  }
  EXPECT_EQ(arena_bytes(), 3 * kMebibyte);
}

TEST_F(Arenas, StepsThatRunAtOnceDoNot) {
  Lease first = lease(kMebibyte);
  Lease second = lease(kMebibyte);
  void* a = first.take(0, kMebibyte);
  void* b = second.take(0, kMebibyte);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a, b);
  give_back(a);
  give_back(b);
}

TEST_F(Arenas, WhatOutlivesAStepIsNotOverwritten) {
  void* kept = lease(kMebibyte).take(0, kSmall);
  std::memset(kept, 5, kSmall);
  {
    Lease next = lease(kMebibyte / 2);
    void* place = next.take(0, kMebibyte / 2);
    ASSERT_NE(place, nullptr);
    std::memset(place, 6, kMebibyte / 2);
    give_back(place);
  }
  EXPECT_EQ(static_cast<unsigned char*>(kept)[kSmall - 1], 5);
  release_arenas();
  EXPECT_EQ(static_cast<unsigned char*>(kept)[0], 5);
  EXPECT_EQ(give_back(kept), kSmall);
}

TEST_F(Arenas, AddressesOfOthersAreNotTheirs) {
  int other = 0;
  EXPECT_EQ(give_back(&other), 0U);
}

TEST_F(Arenas, ThreadsTakeAndGiveBackAtOnce) {
  std::atomic<int> clashes = 0;
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&clashes, number] {
      for (int round = 0; round < 200; ++round) {
        Lease step = lease(kSmall);
        auto* place = static_cast<int*>(step.take(0, kSmall));
        if (place == nullptr) {
          ++clashes;
          continue;
        }
        *place = number;
        std::this_thread::yield();
        clashes += *place != number;
        give_back(place);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(clashes, 0);
}

#ifndef __SANITIZE_THREAD__  // its runtime does not follow a fork out of many threads
TEST_F(Arenas, AChildOfForkCanUseThemWhateverOtherThreadsDo) {
  std::atomic<bool> done = false;
  std::jthread busy([&] {
    while (!done) {
      Lease step = lease(4096);
      give_back(step.take(0, 4096));
    }
  });
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that hangs is killed
      Lease step = lease(4096);
      void* place = step.take(0, 4096);
      _exit(place != nullptr && give_back(place) == 4096 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
}
#endif

}  // namespace
}  // namespace checkmate::runtime
