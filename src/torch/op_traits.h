#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What torch's schemas say, and do not say, about an op.
namespace checkmate::torch {

/// Such as `relu_` of `aten::relu_`.
std::string base_name(const c10::OperatorHandle& op);
/// Such as `aten.relu_.default`, as Python shows it.
std::string python_name(const c10::OperatorHandle& op);

/// Whether its results are views of an argument.
bool is_view(const c10::OperatorHandle& op);

/// The arguments that it writes into, those included that the schema does not name.
std::vector<std::uint32_t> written_arguments(const c10::OperatorHandle& op,
                                             const ::torch::jit::Stack& arguments);

/// Whether it draws random numbers, given its arguments.
bool is_random(const c10::OperatorHandle& op, const ::torch::jit::Stack& arguments);

/// The op that makes a new tensor of what `op` writes over its first argument, such as `relu` for `relu_`.
std::optional<c10::OperatorHandle> functional_form(const c10::OperatorHandle& op);
/// The op that writes over its first argument what `op` makes, element by element.
std::optional<c10::OperatorHandle> in_place_form(const c10::OperatorHandle& op);

/// Whether the first two arguments may change places.
bool is_commutative(const c10::OperatorHandle& op, const ::torch::jit::Stack& arguments);

/// Whether the shapes of its results depend on values.
bool has_dynamic_shape(const c10::OperatorHandle& op, const ::torch::jit::Stack& arguments);

/// Whether it answers from shapes and types alone, although its result is no tensor.
bool asks_for_shapes(const c10::OperatorHandle& op);

}  // namespace checkmate::torch
