#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "checkmate/runtime.h"

namespace checkmate::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kBytes = sizeof(float) * 64 * 64;  // of a matrix

class ExecutorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }
  void SetUp() override {
    release_memory();
    at::manual_seed(0);
  }
};

Call op(const std::string& name, const std::string& overload, Stack arguments,
        std::vector<TensorArgument> tensors, Slot result) {
  return {.kernel = Kernel::op(name, overload),
          .arguments = std::move(arguments),
          .tensors = std::move(tensors),
          .results = {{0, std::nullopt, result}}};
}

Call unary(const std::string& name, Slot from, Slot to) { return op(name, "", Stack(1), {{0, from}}, to); }

Call matmul(Slot a, Slot b, Slot to) { return op("aten::mm", "", Stack(2), {{0, a}, {1, b}}, to); }

/// c = tanh(a b), d = exp(c) recomputing nothing, result = c d
StepProgram chain() {
  StepProgram program{.slot_count = 5, .inputs = {0, 1}};
  program.runs.push_back({.calls = {matmul(0, 1, 2), unary("aten::tanh_", 2, 2)}});
  program.runs.push_back({.calls = {unary("aten::exp", 2, 3)}});
  program.runs.push_back({.calls = {matmul(2, 3, 4)}, .drops = {2, 3}});
  program.results = {4};
  return program;
}

std::vector<at::Tensor> two_matrices(int n = 64) { return {at::randn({n, n}), at::randn({n, n})}; }

at::Tensor expected(const std::vector<at::Tensor>& inputs) {
  const at::Tensor c = at::tanh(at::mm(inputs[0], inputs[1]));
  return at::mm(c, at::exp(c));
}

Addresses addresses_of_chain(std::size_t bytes) {
  Addresses addresses;
  addresses.size = 2 * bytes;
  const std::vector<PlannedAllocation> rows[] = {
      {{bytes, 0}}, {{bytes, bytes}}, {{bytes, PlannedAllocation::kOutside}}};
  for (const auto& row : rows) {
    addresses.of_run.push(row);
  }
  return addresses;
}

TEST_F(ExecutorTest, ComputesWhatTheOpsCompute) {
  const auto inputs = two_matrices();
  const auto results = Executor(chain()).run(inputs, {});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(at::equal(results[0], expected(inputs)));
}

TEST_F(ExecutorTest, PutsAllocationsWhereTheyArePlanned) {
  const auto inputs = two_matrices();
  const Executor executor(chain());
  const Addresses addresses = addresses_of_chain(kBytes);
  for (int round = 0; round < 3; ++round) {
    AllocationCounts counts;
    const auto results = executor.run(inputs, {.addresses = &addresses, .counts = &counts});
    EXPECT_TRUE(at::equal(results[0], expected(inputs)));
    EXPECT_EQ(counts.placed, 2U);
    EXPECT_EQ(counts.outside, 1U);
    EXPECT_EQ(counts.unexpected + counts.occupied, 0U);
  }
  EXPECT_EQ(arena_memory(), addresses.size);
  release_memory();
  EXPECT_EQ(arena_memory(), 0U);
}

TEST_F(ExecutorTest, TellsHowLongEachRunTook) {
  std::vector<std::chrono::nanoseconds> times(7);  // of an earlier step
  Executor(chain()).run(two_matrices(), {.times = &times});
  ASSERT_EQ(times.size(), 3U);
  for (const std::chrono::nanoseconds each : times) {
    EXPECT_GT(each.count(), 0);
  }
}

/// The chain, which shows c and waits for another d before it multiplies.
StepProgram pausing_chain() {
  StepProgram program = chain();
  program.runs[1].pause = Pause{.shown = {2}, .awaited = {3}};
  return program;
}

TEST_F(ExecutorTest, AStepWaitsForItsCaller) {
  const auto inputs = two_matrices();
  const Executor executor(pausing_chain());
  const Addresses addresses = addresses_of_chain(kBytes);
  AllocationCounts counts;
  StepRun step(executor, inputs, {.addresses = &addresses, .counts = &counts});
  step.advance();
  ASSERT_TRUE(step.paused());
  EXPECT_THROW(step.advance(), std::logic_error);
  const at::Tensor c = step.shown().at(0);
  EXPECT_TRUE(at::equal(c, at::tanh(at::mm(inputs[0], inputs[1]))));
  EXPECT_THROW(step.put({}), std::invalid_argument);
  StepRun twin = step.copy();
  for (StepRun* each : {&twin, &step}) {
    each->put({at::ones({64, 64})});
    each->advance();
    EXPECT_FALSE(each->paused());
    EXPECT_TRUE(at::equal(each->shown().at(0), at::mm(c, at::ones({64, 64}))));
    EXPECT_THROW(each->put({at::ones({64, 64})}), std::logic_error);
  }
  EXPECT_EQ(counts.placed, 2U);
  EXPECT_THROW(executor.run(inputs, {}), std::invalid_argument);
}

TEST_F(ExecutorTest, WhatAPausedStepHoldsIsFreeWhenItGoes) {
  const Executor executor(pausing_chain());
  const Addresses addresses = addresses_of_chain(kBytes);
  for (int round = 0; round < 3; ++round) {
    StepRun step(executor, two_matrices(), {.addresses = &addresses});
    step.advance();
  }
  EXPECT_EQ(arena_memory(), addresses.size);
}

TEST_F(ExecutorTest, CountsWhatIsAllocatedOutsideOfSteps) {
  start_counting();
  at::Tensor kept = at::ones({100});
  const Executor executor(chain());
  const auto results = executor.run(two_matrices(8), {});
  { const at::Tensor passing = at::ones({1000}); }
  const HeldBytes first = held_outside();
  kept.reset();
  const HeldBytes second = held_outside();
  stop_counting();
  EXPECT_EQ(first.most - first.now, 1000 * sizeof(float));
  EXPECT_GE(first.now, 100 * static_cast<std::int64_t>(sizeof(float)));
  EXPECT_EQ(first.now - second.now, 100 * sizeof(float));
  EXPECT_EQ(held_outside().now, 0);
}

TEST_F(ExecutorTest, OtherSizesComeFromMallocAndAreCounted) {
  const auto inputs = two_matrices(32);
  const Addresses addresses = addresses_of_chain(kBytes);
  AllocationCounts counts;
  const auto results = Executor(chain()).run(inputs, {.addresses = &addresses, .counts = &counts});
  EXPECT_TRUE(at::equal(results[0], expected(inputs)));
  EXPECT_EQ(counts.placed, 0U);
  EXPECT_EQ(counts.unexpected, 3U);
}

TEST_F(ExecutorTest, AKeptResultIsNeverOverwritten) {
  const auto inputs = two_matrices();
  const Executor executor(chain());
  Addresses addresses = addresses_of_chain(kBytes);
  addresses.size *= 2;
  addresses.of_run = {};
  const std::vector<PlannedAllocation> rows[] = {{{kBytes, kBytes}}, {{kBytes, 2 * kBytes}}, {{kBytes, 0}}};
  for (const auto& row : rows) {
    addresses.of_run.push(row);
  }
  AllocationCounts counts;
  const at::Tensor kept = executor.run(inputs, {.addresses = &addresses, .counts = &counts})[0];
  EXPECT_EQ(counts.placed, 3U);
  const at::Tensor copy = kept.clone();
  const auto others = two_matrices();
  const at::Tensor next = executor.run(others, {.addresses = &addresses, .counts = &counts})[0];
  EXPECT_TRUE(at::equal(kept, copy));
  EXPECT_TRUE(at::equal(next, expected(others)));
}

TEST_F(ExecutorTest, ASlotThatIsDroppedIsFreeMemory) {
  const auto inputs = two_matrices();
  AllocationLog log;
  const auto results = Executor(chain()).run(inputs, {.log = &log});
  const auto bytes = static_cast<std::int64_t>(kBytes);
  std::vector<std::pair<std::uint32_t, std::int64_t>> events;
  for (const auto& [allocation, size] : log.events) {
    events.emplace_back(allocation, size);
  }
  EXPECT_THAT(events, ElementsAre(std::pair(0U, bytes), std::pair(1U, bytes), std::pair(2U, bytes),
                                  std::pair(0U, -1L), std::pair(1U, -1L)));
  ASSERT_EQ(log.runs.size(), 3U);
  EXPECT_EQ(log.runs[2].begin, 2U);
  EXPECT_EQ(log.runs[2].end, 3U) << "what is dropped comes after it";
  ASSERT_EQ(log.values.size(), 4U) << "a result and its in-place form, and two more";
  EXPECT_EQ(log.values.back().slot, 4U);
  EXPECT_EQ(log.values.back().allocation, 2U);
}

StepProgram two_draws() {
  StepProgram program{.slot_count = 3, .random_state_count = 1, .inputs = {0}};
  const auto draw = [](Slot to) { return op("aten::bernoulli", "p", {{}, 0.5, {}}, {{0, 0}}, to); };
  program.runs.push_back({.calls = {draw(1)}, .randomness = Randomness::kRemember});
  program.runs.push_back({.calls = {draw(2)}, .randomness = Randomness::kRepeat});
  program.results = {1, 2};
  return program;
}

TEST_F(ExecutorTest, ARecomputedDrawRepeatsItsNumbers) {
  const at::Tensor shape = at::empty({1000});
  const auto results = Executor(two_draws()).run({shape}, {});
  EXPECT_TRUE(at::equal(results[0], results[1]));
  const at::Tensor after = at::rand({10});
  at::manual_seed(0);
  EXPECT_TRUE(at::equal(at::bernoulli(shape, 0.5), results[0]));
  EXPECT_TRUE(at::equal(at::rand({10}), after)) << "the repeated draw moved the generator";
}

TEST_F(ExecutorTest, AFunctionRunsAmongOps) {
  StepProgram program = chain();
  bool ran = false;
  Call call{.kernel = Kernel::function([&](Stack& stack) {
              ran = true;
              const at::Tensor doubled = at::mul(stack.at(0).toTensor(), 2);
              stack = {doubled};
            }),
            .arguments = Stack(1),
            .tensors = {{0, 2}},
            .results = {{0, std::nullopt, 2}}};
  program.runs[0].calls.push_back(std::move(call));
  const auto inputs = two_matrices();
  const Addresses addresses = addresses_of_chain(kBytes);
  AllocationCounts counts;
  const auto results = Executor(std::move(program)).run(inputs, {.addresses = &addresses, .counts = &counts});
  const at::Tensor c = at::mul(at::tanh(at::mm(inputs[0], inputs[1])), 2);
  EXPECT_TRUE(ran);
  EXPECT_TRUE(at::equal(results[0], at::mm(c, at::exp(c))));
  EXPECT_EQ(counts.unexpected, 0U) << "what a function allocates is not planned";
}

TEST_F(ExecutorTest, ListsOfTensorsComeAndGo) {
  StepProgram program{.slot_count = 4, .inputs = {0}};
  program.runs.push_back({.calls = {{.kernel = Kernel::op("aten::split", "Tensor"),
                                     .arguments = {{}, std::int64_t{2}, std::int64_t{0}},
                                     .tensors = {{0, 0}},
                                     .results = {{0, 0, 1}, {0, 1, 2}}}}});
  program.runs.push_back({.calls = {{.kernel = Kernel::op("aten::cat", ""),
                                     .arguments = {{}, std::int64_t{0}},
                                     .lists = {{0, false, {2, 1}}},
                                     .results = {{0, std::nullopt, 3}}}},
                          .drops = {1, 2}});
  program.results = {3};
  const at::Tensor input = at::arange(4, at::kFloat);
  EXPECT_TRUE(at::equal(Executor(std::move(program)).run({input}, {})[0], at::roll(input, 2)));
}

TEST_F(ExecutorTest, AnOpThatThrowsLeavesNothingBehind) {
  const Executor executor(chain());
  const Addresses addresses = addresses_of_chain(kBytes);
  AllocationCounts counts;
  const std::vector<at::Tensor> wrong = {at::randn({64, 64}), at::randn({63, 64})};
  EXPECT_THROW(executor.run(wrong, {.addresses = &addresses, .counts = &counts}), c10::Error);
  StepProgram late = chain();
  late.runs[2].calls.push_back(matmul(0, 4, 4));
  const std::vector<at::Tensor> late_inputs = {at::randn({64, 32}),
                                               at::randn({32, 64})};  // (64x32)(64x64) cannot be
  EXPECT_THROW(Executor(std::move(late)).run(late_inputs, {.addresses = &addresses, .counts = &counts}),
               c10::Error);
  const auto inputs = two_matrices();
  counts = {};
  EXPECT_TRUE(
      at::equal(executor.run(inputs, {.addresses = &addresses, .counts = &counts})[0], expected(inputs)));
  EXPECT_EQ(counts.placed, 2U) << "what the failed step took is free";
}

TEST_F(ExecutorTest, SaysSoWhereTheSystemHasNoMemory) {
  Addresses addresses = addresses_of_chain(kBytes);
  addresses.size = std::size_t{1} << 60;
  EXPECT_THAT([&] { Executor(chain()).run(two_matrices(), {.addresses = &addresses}); },
              ThrowsMessage<c10::OutOfMemoryError>(HasSubstr("bytes for the arena of the step")));
}

TEST_F(ExecutorTest, IsInterruptedBeforeTheFirstEffectOnly) {
  const auto inputs = two_matrices();
  int polls = 0;
  const auto stop = [&] {
    if (++polls == 2) {
      throw std::runtime_error("stop");
    }
  };
  EXPECT_THAT([&] { Executor(chain()).run(inputs, {.poll = stop}); },
              ThrowsMessage<std::runtime_error>("stop"));
  StepProgram with_effect = chain();
  with_effect.runs[0].effect = true;
  polls = 0;
  Executor(std::move(with_effect)).run(inputs, {.poll = stop});
  EXPECT_EQ(polls, 0);
}

TEST_F(ExecutorTest, TwoThreadsRunAtOnce) {
  const Executor executor(chain());
  const Addresses addresses = addresses_of_chain(kBytes);
  const auto inputs = two_matrices();
  const at::Tensor wanted = expected(inputs);
  std::vector<int> right(3, 0);
  std::vector<std::jthread> threads;
  threads.reserve(right.size());
  for (int& each : right) {
    threads.emplace_back([&] {
      at::set_num_threads(1);
      for (int round = 0; round < 20; ++round) {
        AllocationCounts counts;
        const auto results = executor.run(inputs, {.addresses = &addresses, .counts = &counts});
        each += at::equal(results[0], wanted) && counts.placed == 2 ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_THAT(right, ElementsAre(20, 20, 20));
}

TEST_F(ExecutorTest, RefusesProgramsThatCannotRun) {
  StepProgram unknown_slot = chain();
  unknown_slot.runs[1].drops = {9};
  EXPECT_THAT([&] { Executor{unknown_slot}; },
              ThrowsMessage<std::invalid_argument>(HasSubstr("run 1 of 3: there is no slot 9")));
  StepProgram dropped = chain();
  dropped.runs[1].drops = {2};
  EXPECT_THAT([&] { Executor{dropped}; },
              ThrowsMessage<std::invalid_argument>(HasSubstr("slot 2 is read before it has a value")));
  StepProgram no_state = two_draws();
  no_state.random_state_count = 0;
  EXPECT_THAT([&] { Executor{no_state}; },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no random state 0")));
  EXPECT_THROW(Kernel::op("aten::no_such_op", ""), c10::Error);
  EXPECT_THAT([] { Executor(chain()).run({}, {}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("takes 2 inputs, got 0")));
}

}  // namespace
}  // namespace checkmate::runtime
