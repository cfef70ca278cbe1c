#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <string>
#include <vector>

#include "torch/captured.h"

/// Tensors of the processor that have a shape and a storage of their own, but no memory.
namespace checkmate::torch {

at::Tensor ghost(const Layout& layout);
/// Contiguous.
at::Tensor ghost(at::IntArrayRef sizes, c10::ScalarType type);

/// What kernels really made of such arguments, by a text that says which op and which arguments.
using KnownLayouts = std::map<std::string, std::vector<Layout>>;

/// Replaces the arguments on the stack by results that are ghosts. Nothing is computed, unless torch has no
/// shape rule for the op and we have none: then it runs once, on zeros. Throws what torch throws for
/// arguments that do not fit.
void make_results(const c10::OperatorHandle& op, Stack& stack, const KnownLayouts& known);

}  // namespace checkmate::torch
