#include "torch/guard.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <algorithm>

namespace checkmate::torch {

Guard Guard::of(const Situation& situation, std::vector<bool> training) {
  Guard guard{.inputs = {}, .training = std::move(training)};
  for (const at::Tensor& tensor : tensors_of(situation)) {
    if (!tensor.defined()) {
      guard.inputs.push_back({});
      continue;
    }
    Layout layout = Layout::of(tensor);
    layout.offset = 0;  // a slice of a data set is as good as another one
    guard.inputs.push_back(
        {std::move(layout), tensor.requires_grad(), tensor.is_leaf() && tensor.grad().defined()});
  }
  if (at::autocast::is_autocast_enabled(at::kCPU)) {
    guard.autocast = c10::toString(at::autocast::get_autocast_dtype(at::kCPU));
  }
  return guard;
}

bool Guard::accumulates() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const Input& input) { return input.has_gradient; });
}

}  // namespace checkmate::torch
