#pragma once

#include <array>
#include <list>
#include <utility>

#include "torch/compiled_step.h"
#include "torch/guard.h"

namespace checkmate::torch {

/// What a step knows: the steps that were prepared, the latest one first.
class Step::State {
 public:
  State(Model given_model, LossFunction given_loss_fn, Options given_options)
      : model(std::move(given_model)), loss_fn(std::move(given_loss_fn)), options(std::move(given_options)) {}

  Result<Situation> situation(const std::vector<at::Tensor>& batch) const;
  /// The planned step for such a call: the one that is known, or a new one.
  Result<CompiledStep*> prepared(const Situation& now);
  const CompiledStep& latest() const { return steps.front().second; }

  Model model;
  LossFunction loss_fn;
  Options options;
  std::list<std::pair<Guard, CompiledStep>> steps;
  std::array<std::optional<Bytes>, 2> budgets;  ///< without and with gradients to add to
  std::vector<at::Tensor> extras;
};

}  // namespace checkmate::torch
