#pragma once

#include <torch/script.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "checkmate/torch_step.h"

/// Training steps of LibTorch models within a budget of bytes:
///
///     auto step = checkmate::torch::compile(model, loss_fn, {x, y}, {.budget = "60%"});
///     if (!step) { std::cerr << step.error().message; return 1; }
///     for (auto& batch : *loader) { optimizer.zero_grad(); auto loss = (*step)(batch.data, batch.target);
///     optimizer.step(); }
///
/// This is the one header of Checkmate that includes torch/torch.h. Write `checkmate::torch::`: next to
/// `using namespace checkmate;`, the name `torch` would mean two things.
namespace checkmate::torch {
namespace detail {

/// The module of a holder such as torch::nn::Linear, of a shared pointer, or the module itself.
template <class Module>
::torch::nn::Module& module_of(Module& module) {
  if constexpr (std::is_base_of_v<::torch::nn::Module, std::remove_cvref_t<Module>>) {
    return module;
  } else {
    return *module;
  }
}

/// Each tensor once: modules may share parameters.
template <class Items>
std::vector<NamedTensor> each_once(const Items& items) {
  std::vector<NamedTensor> found;
  std::unordered_set<const void*> seen;
  for (const auto& item : items) {
    if (item.value().defined() && seen.insert(item.value().unsafeGetTensorImpl()).second) {
      found.push_back({item.key(), item.value()});
    }
  }
  return found;
}

/// What keeps the model: a holder is copied, and shares the module; a module itself is referred to.
template <class Module>
struct Kept {
  std::conditional_t<std::is_base_of_v<::torch::nn::Module, Module>, std::reference_wrapper<Module>, Module>
      model;
  Module& get() { return model; }
};

template <class Module>
Model model_of(Kept<Module> kept) {
  Model model{.name = module_of(kept.get()).name()};
  model.parameters = [kept]() mutable { return each_once(module_of(kept.get()).named_parameters()); };
  model.buffers = [kept]() mutable { return each_once(module_of(kept.get()).named_buffers()); };
  model.training = [kept]() mutable {
    std::vector<bool> training;
    for (const auto& part : module_of(kept.get()).modules()) training.push_back(part->is_training());
    return training;
  };
  return model;
}

/// A module of TorchScript has no name of its own, and lists what it has in another way.
inline Model model_of(Kept<::torch::jit::Module> kept) {
  const auto listed = [](const auto& items) {
    std::vector<NamedTensor> found;
    std::unordered_set<const void*> seen;
    for (const auto& item : items) {
      if (item.value.defined() && seen.insert(item.value.unsafeGetTensorImpl()).second) {
        found.push_back({item.name, item.value});
      }
    }
    return found;
  };
  Model model{.name = kept.get().type()->name()->name()};
  model.parameters = [kept, listed]() mutable { return listed(kept.get().named_parameters()); };
  model.buffers = [kept, listed]() mutable { return listed(kept.get().named_buffers()); };
  model.training = [kept]() mutable {
    std::vector<bool> training;
    for (const auto& part : kept.get().modules()) training.push_back(part.is_training());
    return training;
  };
  return model;
}

inline std::vector<at::Tensor> losses_of(at::Tensor loss) { return {std::move(loss)}; }
inline std::vector<at::Tensor> losses_of(std::vector<at::Tensor> losses) { return losses; }
template <class... Tensors>
std::vector<at::Tensor> losses_of(const std::tuple<Tensors...>& losses) {
  return std::apply([](const auto&... each) { return std::vector<at::Tensor>{each...}; }, losses);
}

template <std::size_t>
using TensorAt = at::Tensor;

template <class Function, class Module, std::size_t... Positions>
constexpr bool takes(std::index_sequence<Positions...>) {
  return std::is_invocable_v<Function&, Module&, const TensorAt<Positions>&...>;
}

inline constexpr std::size_t kMostTensors = 8;

/// How many tensors the function takes after the model.
template <class Function, class Module, std::size_t Count = 0>
constexpr std::size_t tensor_count() {
  if constexpr (Count > kMostTensors || takes<Function, Module>(std::make_index_sequence<Count>())) {
    return Count;
  } else {
    return tensor_count<Function, Module, Count + 1>();
  }
}

template <class Function, class Module, std::size_t... Positions>
std::vector<at::Tensor> call(Function& function, Module& module, const std::vector<at::Tensor>& batch,
                             std::index_sequence<Positions...>) {
  return losses_of(function(module, batch[Positions]...));
}

template <class Module, class Function>
Result<Step> compile(Model model, Kept<Module> kept, Function function,
                     const std::vector<at::Tensor>& example, Options options) {
  if constexpr (std::is_invocable_v<Function&, Module&, const std::vector<at::Tensor>&>) {
    auto loss = [kept, function](const std::vector<at::Tensor>& batch) mutable {
      return losses_of(function(kept.get(), batch));
    };
    return Step::compile(std::move(model), std::move(loss), example, std::move(options));
  } else {
    static constexpr std::size_t kCount = tensor_count<Function, Module>();
    static_assert(kCount <= kMostTensors,
                  "the loss function must be callable with the model and the tensors of the batch, or a "
                  "vector of them");
    auto loss = [kept, function](const std::vector<at::Tensor>& batch) mutable {
      TORCH_CHECK(batch.size() == kCount, "the loss function takes ", kCount,
                  " tensors after the model, and the batch has ", batch.size());
      return call(function, kept.get(), batch, std::make_index_sequence<kCount>());
    };
    return Step::compile(std::move(model), std::move(loss), example, std::move(options));
  }
}

}  // namespace detail

/// A training step of the model that stays within the budget, with as little slow-down as can be found.
///
/// `model` is a module holder (torch::nn::Sequential, ...), a shared pointer to a module, or a module, which
/// must outlive the step then. `loss_fn(model, x, y)`, or `loss_fn(model, batch)` with all tensors of the
/// batch, returns a scalar loss, or a tuple or vector with the loss first. `example` is a batch: its shapes
/// matter.
///
/// Compiling changes neither the model nor the state of the random generator, but for what the code of the
/// model does to its members. The errors: a step that is no graph of fixed shapes, a budget that is too
/// small, with the bytes that suffice, and wrong options.
template <class Module, class Function>
Result<Step> compile(Module&& model, Function loss_fn, const std::vector<at::Tensor>& example,
                     Options options = {}) {
  using Plain = std::remove_cvref_t<Module>;
  static_assert(!std::is_base_of_v<::torch::nn::Module, Plain> || std::is_lvalue_reference_v<Module>,
                "the step refers to the module, which must outlive it");
  detail::Kept<Plain> kept{model};
  return detail::compile(detail::model_of(kept), kept, std::move(loss_fn), example, std::move(options));
}

}  // namespace checkmate::torch
