#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace checkmate::torch {

/// Shapes of an op's results, for what has no rule in torch outside of Python.
using ShapeRule = std::function<std::vector<at::Tensor>(const ::torch::jit::Stack& arguments)>;

/// By the name and overload of the op, such as `aten::convolution`; null without one. What it returns are
/// ghosts.
const ShapeRule* shape_rule(const std::string& op);

}  // namespace checkmate::torch
