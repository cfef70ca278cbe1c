#pragma once

#include <vector>

#include "checkmate/result.h"
#include "checkmate/torch_step.h"
#include "torch/captured.h"
#include "torch/ghosts.h"

namespace checkmate::torch {

/// A model and a batch, as they are now.
struct Situation {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::vector<at::Tensor> batch;
};

/// Those inputs of a step that its caller hands over: parameters, buffers, the batch. After them come what
/// the step captured as constants, and then the gradients to add to.
std::vector<at::Tensor> tensors_of(const Situation& situation);

/// The ops of `loss_fn` and of the backward pass after it. Nothing is computed, and the model stays as it is.
/// Gradients that parameters have already are inputs, and are added to as soon as the new ones are made.
Result<Captured> capture(const Situation& situation, const LossFunction& loss_fn, const KnownLayouts& known);

}  // namespace checkmate::torch
