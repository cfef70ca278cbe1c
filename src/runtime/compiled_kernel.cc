#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided.h>
#include <c10/util/StringUtil.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "checkmate/runtime.h"

namespace checkmate::runtime {
namespace {

using Operands = std::vector<at::Tensor>;
using Caller = void (*)(CompiledKernel::Function, void* const*);

template <std::size_t>
using AnyPointer = void*;

template <std::size_t... kIndex>
void call_with(CompiledKernel::Function function, void* const* pointers, std::index_sequence<kIndex...>) {
  reinterpret_cast<void (*)(AnyPointer<kIndex>...)>(function)(pointers[kIndex]...);
}

template <std::size_t... kCount>
constexpr std::array<Caller, sizeof...(kCount)> callers(std::index_sequence<kCount...>) {
  return {[](CompiledKernel::Function function, void* const* pointers) {
    call_with(function, pointers, std::make_index_sequence<kCount>());
  }...};
}

/// By the number of pointers.
constexpr auto kCallers = callers(std::make_index_sequence<CompiledKernel::kMostPointers + 1>());

void perform(const CompiledKernel::Allocate& action, Operands& operands) {
  const TensorLayout& layout = action.layout;
  operands[action.operand] = at::detail::empty_strided_cpu(layout.sizes, layout.strides, layout.type);
}

void perform(const CompiledKernel::Launch& action, Operands& operands) {
  std::array<void*, CompiledKernel::kMostPointers> pointers{};
  for (std::size_t i = 0; i < action.pointers.size(); ++i) {
    const at::Tensor& operand = operands[action.pointers[i].operand];
    pointers[i] =
        static_cast<char*>(operand.data_ptr()) + action.pointers[i].element * operand.element_size();
  }
  kCallers[action.pointers.size()](action.function, pointers.data());
}

void perform(const CompiledKernel::Free& action, Operands& operands) { operands[action.operand].reset(); }

/// Compiled code trusts its pointers.
void check_argument(const at::Tensor& given, const TensorLayout& layout, std::size_t position) {
  if (given.scalar_type() == layout.type && given.sizes() == layout.sizes &&
      given.strides() == layout.strides) {
    return;
  }
  throw std::invalid_argument(
      c10::str("argument ", position, " of a compiled kernel has sizes ", given.sizes(), " and strides ",
               given.strides(), " of ", given.scalar_type(), ", and it was compiled for ",
               at::IntArrayRef(layout.sizes), " and ", at::IntArrayRef(layout.strides), " of ", layout.type));
}

void run(const CompiledKernel& kernel, Stack& stack) {
  Operands operands(kernel.operand_count);
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    operands[i] = std::move(stack.at(i)).toTensor();
    check_argument(operands[i], kernel.arguments[i], i);
  }
  stack.clear();
  for (const CompiledKernel::Action& action : kernel.actions) {
    std::visit([&](const auto& each) { perform(each, operands); }, action);
  }
  for (const CompiledKernel::Result& result : kernel.results) {
    const at::Tensor& operand = operands[result.operand];
    const bool whole = operand.sizes() == result.layout.sizes && operand.strides() == result.layout.strides;
    stack.emplace_back(whole ? operand : at::as_strided(operand, result.layout.sizes, result.layout.strides));
  }
}

/// Every operand exists and has memory when it is used.
class Checker {
 public:
  explicit Checker(const CompiledKernel& kernel) : kernel_(kernel), there_(kernel.operand_count) {
    if (kernel.arguments.size() > kernel.operand_count) {
      throw std::invalid_argument("a compiled kernel has more arguments than operands");
    }
    std::fill_n(there_.begin(), kernel.arguments.size(), true);
  }

  void check() {
    for (const CompiledKernel::Action& action : kernel_.actions) {
      std::visit([&](const auto& each) { follow(each); }, action);
    }
    for (const CompiledKernel::Result& result : kernel_.results) {
      need(result.operand);
    }
  }

 private:
  void follow(const CompiledKernel::Allocate& action) {
    if (action.operand < kernel_.arguments.size() || action.operand >= there_.size()) {
      throw std::invalid_argument(fmt::format("a compiled kernel has no buffer {}", action.operand));
    }
    if (action.layout.sizes.size() != action.layout.strides.size()) {
      throw std::invalid_argument("a buffer of a compiled kernel must have as many strides as sizes");
    }
    there_[action.operand] = true;
  }
  void follow(const CompiledKernel::Launch& action) {
    if (action.function == nullptr || action.pointers.size() > CompiledKernel::kMostPointers) {
      throw std::invalid_argument(
          fmt::format("a function of a compiled kernel takes 0 to {} pointers, got {}",
                      CompiledKernel::kMostPointers, action.pointers.size()));
    }
    for (const CompiledKernel::Pointer& pointer : action.pointers) {
      need(pointer.operand);
    }
  }
  void follow(const CompiledKernel::Free& action) {
    need(action.operand);
    there_[action.operand] = false;
  }
  void need(std::uint32_t operand) const {
    if (operand >= there_.size() || !there_[operand]) {
      throw std::invalid_argument(
          fmt::format("a compiled kernel uses operand {}, which has no memory", operand));
    }
  }

  const CompiledKernel& kernel_;
  std::vector<bool> there_;
};

}  // namespace

Kernel Kernel::compiled(CompiledKernel kernel) {
  Checker(kernel).check();
  return function([kernel = std::move(kernel)](Stack& stack) { run(kernel, stack); }, /*planned=*/true);
}

}  // namespace checkmate::runtime
