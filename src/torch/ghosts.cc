#include "torch/ghosts.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/StorageImpl.h>

#include "torch/shape_rules.h"
#include "torch/signature.h"

namespace checkmate::torch {
namespace {

/// The argument with each of its tensors replaced.
template <class Replace>
c10::IValue replaced(const c10::IValue& argument, const Replace& replace) {
  if (argument.isTensor()) {
    return replace(argument.toTensor());
  }
  if (argument.isTensorList()) {
    std::vector<at::Tensor> tensors = argument.toTensorVector();
    for (at::Tensor& tensor : tensors) {
      tensor = replace(tensor);
    }
    return tensors;
  }
  if (argument.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> tensors;
    for (const std::optional<at::Tensor>& tensor : argument.toOptionalTensorVector()) {
      tensors.push_back(tensor ? std::optional(replace(*tensor)) : std::nullopt);
    }
    return tensors;
  }
  return argument;
}

bool has_tensors(const Stack& stack) {
  return std::any_of(stack.begin(), stack.end(), [](const c10::IValue& each) {
    return each.isTensor() || each.isTensorList() || each.isOptionalTensorList();
  });
}

void become_ghosts(Stack& stack) {
  for (c10::IValue& result : stack) {
    result = replaced(result, [](const at::Tensor& tensor) {
      return tensor.defined() ? ghost(Layout::of(tensor)) : tensor;
    });
  }
}

/// By torch's own rule: the op on tensors of the meta device.
void make_by_meta(const c10::OperatorHandle& op, Stack& stack) {
  const bool any = has_tensors(stack);
  for (std::size_t i = 0; i < stack.size(); ++i) {
    stack[i] = replaced(stack[i], [](const at::Tensor& tensor) {
      return !tensor.defined() || is_number(tensor)
                 ? tensor
                 : at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
    });
    const bool device = op.schema().arguments()[i].name() == "device";
    if (stack[i].isDevice() || (device && !any && stack[i].isNone())) {
      stack[i] = c10::Device(at::kMeta);
    }
  }
  op.callBoxed(stack);
}

/// By its kernel, on zeros of such shapes: indices are good, and memory is that of this op alone.
void make_by_trial(const c10::OperatorHandle& op, Stack& stack) {
  const at::Generator& generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor state = generator.get_state();
  for (c10::IValue& argument : stack) {
    argument = replaced(argument, [](const at::Tensor& tensor) {
      return !tensor.defined() || is_number(tensor)
                 ? tensor
                 : at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()).zero_();
    });
  }
  op.callBoxed(stack);
  at::Generator(generator).set_state(state);
}

Stack ghosts_of(const std::vector<at::Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

/// The layouts of all results, or nothing where there is another number of them.
void correct(Stack& stack, const std::vector<Layout>& known) {
  std::size_t next = 0;
  for (c10::IValue& result : stack) {
    result = replaced(result, [&](const at::Tensor& tensor) {
      return tensor.defined() && next < known.size() ? ghost(known[next++]) : tensor;
    });
  }
}

}  // namespace

at::Tensor ghost(const Layout& layout) {
  // It has no memory, so that whoever reads a value is told so by torch.
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), layout.extent(),
                                                       c10::DataPtr(nullptr, at::kCPU), nullptr, false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                               c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                               c10::scalarTypeToTypeMeta(layout.type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(layout.sizes, layout.strides, layout.offset);
  return tensor;
}

at::Tensor ghost(at::IntArrayRef sizes, c10::ScalarType type) {
  Layout layout{.sizes = sizes.vec(), .strides = std::vector<std::int64_t>(sizes.size()), .type = type};
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    layout.strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  return ghost(layout);
}

void make_results(const c10::OperatorHandle& op, Stack& stack, const KnownLayouts& known) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const std::string text = known.empty() ? std::string() : call_text(op, stack);
  const auto& schema = op.schema();
  const Stack arguments = stack;
  if (const ShapeRule* rule = shape_rule(schema.name())) {
    stack = ghosts_of((*rule)(arguments));
  } else {
    try {
      make_by_meta(op, stack);
    } catch (const c10::NotImplementedError&) {
      stack = arguments;
      make_by_trial(op, stack);
    }
    become_ghosts(stack);
  }
  if (const auto found = known.find(text); !known.empty() && found != known.end()) {
    correct(stack, found->second);
  }
}

}  // namespace checkmate::torch
