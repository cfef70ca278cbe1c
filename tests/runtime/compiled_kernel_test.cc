#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/runtime.h"

namespace checkmate::runtime {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kSize = 1024;

extern "C" void twice_into(const float* from, float* to) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    to[i] = 2 * from[i];
  }
}

extern "C" void sum_of_halves(const float* first, const float* second, float* to) {
  for (std::int64_t i = 0; i < kSize / 2; ++i) {
    to[i] = first[i] + second[i];
  }
}

template <class F>
CompiledKernel::Function erased(F* function) {
  return reinterpret_cast<CompiledKernel::Function>(function);
}

TensorLayout line(std::int64_t size) { return {{size}, {1}, at::kFloat}; }

/// From x: 2 x, and the sum of its halves.
CompiledKernel doubling() {
  return {.arguments = {line(kSize)},
          .operand_count = 3,
          .actions = {CompiledKernel::Allocate{1, line(kSize)},
                      CompiledKernel::Launch{erased(&twice_into), {{0}, {1}}},
                      CompiledKernel::Allocate{2, line(kSize / 2)},
                      CompiledKernel::Launch{erased(&sum_of_halves), {{1}, {1, kSize / 2}, {2}}},
                      CompiledKernel::Free{1}},
          .results = {{2, {{kSize / 4, 2}, {2, 1}, at::kFloat}}}};
}

StepProgram program_of(CompiledKernel kernel) {
  StepProgram program{.slot_count = 2, .inputs = {0}, .results = {1}};
  program.runs.push_back({.calls = {{.kernel = Kernel::compiled(std::move(kernel)),
                                     .arguments = Stack(1),
                                     .tensors = {{0, 0}},
                                     .results = {{0, std::nullopt, 1}}}}});
  return program;
}

TEST(CompiledKernelTest, FunctionsGetPointersAndResultsAreViews) {
  const at::Tensor x = at::randn({kSize});
  const Executor executor(program_of(doubling()));
  const at::Tensor result = executor.run({x}, {}).at(0);
  EXPECT_TRUE(at::equal(result, x.mul(2).view({2, kSize / 2}).sum(0).view({kSize / 4, 2})));
}

TEST(CompiledKernelTest, ItsAllocationsHavePlannedPlaces) {
  const Executor executor(program_of(doubling()));
  Addresses addresses;
  addresses.size = 2 * kSize * sizeof(float);
  addresses.of_run.push_item({kSize * sizeof(float), 0});
  addresses.of_run.push_item({kSize / 2 * sizeof(float), kSize * sizeof(float)});
  addresses.of_run.end_row();
  AllocationCounts counts;
  const std::vector<at::Tensor> results =
      executor.run({at::randn({kSize})}, {.addresses = &addresses, .counts = &counts});
  EXPECT_EQ(counts.placed, 2U);
  EXPECT_EQ(counts.unexpected, 0U);
  EXPECT_TRUE(in_arena(results.at(0)));
}

TEST(CompiledKernelTest, AnArgumentInAnotherLayoutIsRefused) {
  const Executor executor(program_of(doubling()));
  const auto run = [&](const at::Tensor& x) { return [&executor, x] { executor.run({x}, {}); }; };
  const auto refused = ThrowsMessage<std::invalid_argument>(HasSubstr("argument 0 of a compiled kernel"));
  EXPECT_THAT(run(at::randn({2 * kSize}).slice(0, 0, 2 * kSize, 2)), refused);
  EXPECT_THAT(run(at::randn({kSize / 2})), refused);
  EXPECT_THAT(run(at::zeros({kSize}, at::kLong)), refused);
}

TEST(CompiledKernelTest, OperandsMustHaveMemory) {
  const auto refused = [](CompiledKernel kernel, const char* reason) {
    EXPECT_THAT([&] { Kernel::compiled(std::move(kernel)); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(reason)));
  };
  CompiledKernel freed = doubling();
  freed.results = {{1, line(kSize)}};
  refused(freed, "uses operand 1, which has no memory");
  CompiledKernel early = doubling();
  std::swap(early.actions[0], early.actions[1]);
  refused(early, "uses operand 1, which has no memory");
  CompiledKernel unknown = doubling();
  unknown.actions.emplace_back(CompiledKernel::Allocate{3, line(1)});
  refused(unknown, "has no buffer 3");
  CompiledKernel argument = doubling();
  argument.actions.emplace_back(CompiledKernel::Allocate{0, line(1)});
  refused(argument, "has no buffer 0");
  CompiledKernel ragged = doubling();
  ragged.actions.emplace_back(CompiledKernel::Allocate{2, {{1, 2}, {1}, at::kFloat}});
  refused(ragged, "as many strides as sizes");
  CompiledKernel crowded = doubling();
  crowded.actions.emplace_back(CompiledKernel::Launch{
      erased(&twice_into), std::vector<CompiledKernel::Pointer>(CompiledKernel::kMostPointers + 1)});
  refused(crowded, "takes 0 to 64 pointers, got 65");
  refused({.arguments = {line(1)}, .operand_count = 0}, "more arguments than operands");
}

}  // namespace
}  // namespace checkmate::runtime
