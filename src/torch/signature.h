#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <string>
#include <vector>

#include "torch/captured.h"

/// Calls as text, in the words of Python's front end: both share what they measure.
namespace checkmate::torch {

/// A number that stands among tensors. It decides about types as a number, which no tensor in its place
/// would.
bool is_number(const at::Tensor& tensor);

/// Such as `torch.float32[2, 3][3, 1]@cpu`.
std::string layout_text(const Layout& layout);

/// As Python's repr() writes it: `0.1`, `1.0`, `1e-05`, `inf`.
std::string number_text(double number);
std::string scalar_text(const at::Scalar& scalar);

/// The arguments that differ from the schema's defaults: positional ones in order, then `name=value`. Tensors
/// are described by `tensor`, which gets the position and, in lists, the element.
std::vector<std::string> argument_texts(
    const c10::FunctionSchema& schema, const ::torch::jit::Stack& arguments,
    const std::function<std::string(std::uint32_t position, std::optional<std::uint32_t> element)>& tensor);

/// A call with real tensors among its arguments, described by their layouts.
std::string call_text(const c10::OperatorHandle& op, const ::torch::jit::Stack& arguments);

}  // namespace checkmate::torch
