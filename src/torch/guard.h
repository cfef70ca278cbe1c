#pragma once

#include <string>
#include <vector>

#include "checkmate/result.h"
#include "torch/capture.h"

namespace checkmate::torch {

/// What a prepared step takes for granted: equal for two calls that may share it.
struct Guard {
  struct Input {
    Layout layout = {};
    bool requires_grad = false;
    bool has_gradient = false;
    bool operator==(const Input&) const = default;
  };
  std::vector<Input> inputs = {};   ///< parameters, buffers, the batch
  std::vector<bool> training = {};  ///< of each module
  std::string autocast = {};
  bool operator==(const Guard&) const = default;

  static Guard of(const Situation& situation, std::vector<bool> training);
  /// Whether there are gradients to add to.
  bool accumulates() const;
};

}  // namespace checkmate::torch
