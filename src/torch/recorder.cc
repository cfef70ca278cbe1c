#include "torch/recorder.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "torch/op_traits.h"
#include "torch/signature.h"

namespace checkmate::torch {
namespace {

bool is_tensor_type(const c10::Argument& result) {
  const c10::TypeKind kind = result.type()->kind();
  return kind == c10::TypeKind::TensorType ||
         (kind == c10::TypeKind::ListType &&
          result.type()->containedType(0)->kind() == c10::TypeKind::TensorType);
}

/// Calls visit(position, element, tensor) for each tensor among the values that is there.
template <class Visit>
void for_each_tensor(const Stack& stack, const Visit& visit) {
  for (std::uint32_t position = 0; position < stack.size(); ++position) {
    const c10::IValue& value = stack[position];
    if (value.isTensor() && value.toTensor().defined()) {
      visit(position, std::optional<std::uint32_t>(), value.toTensor());
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
      std::uint32_t element = 0;
      for (const c10::IValue& item : value.toListRef()) {
        if (item.isTensor() && item.toTensor().defined()) {
          visit(position, std::optional(element), item.toTensor());
        }
        ++element;
      }
    }
  }
}

/// Two tensors are equal where they are the same. Others are what ops have made of different things: as
/// in eager mode, they differ.
bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && Layout::of(a) == Layout::of(b);
}

/// Whether a kernel that makes a new tensor of this layout makes the same storage.
bool covers(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         static_cast<std::size_t>(tensor.numel()) * tensor.element_size() == tensor.storage().nbytes();
}

}  // namespace

Recorder::Recorder(const std::vector<at::Tensor>& inputs, std::vector<std::string> names,
                   std::size_t parameters, const KnownLayouts& known)
    : inputs_(inputs), known_(known), parameter_count_(parameters) {
  captured_.input_names = std::move(names);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    const StorageId storage = is_known(input) ? storage_of(input) : new_storage(input, std::nullopt);
    // A batch may be a slice of a whole data set, which is none of the step's.
    captured_.storages[storage].bytes =
        std::max(captured_.storages[storage].bytes, Layout::of(input).extent());
    at_start_.push_back(storage);
    captured_.inputs.push_back(value(storage, Layout::of(input)));
    if (i < parameters) {
      parameter_of_.emplace(input.storage().unsafeGetStorageImpl(), i);
    }
  }
}

void Recorder::begin(Phase phase) { origin_ = {.phase = phase}; }

bool Recorder::is_known(const at::Tensor& tensor) const {
  return current_.contains(tensor.storage().unsafeGetStorageImpl());
}

StorageId Recorder::new_storage(const at::Tensor& tensor, std::optional<NodeId> maker) {
  const auto id = static_cast<StorageId>(captured_.storages.size());
  // Of inputs, as much as the step reads.
  const auto bytes =
      maker ? static_cast<std::int64_t>(tensor.storage().nbytes()) : Layout::of(tensor).extent();
  captured_.storages.push_back({bytes, maker});
  if (current_.insert_or_assign(tensor.storage().unsafeGetStorageImpl(), id).second) {
    addresses_.emplace_back(tensor.storage().getWeakStorageImpl());
  }
  return id;
}

StorageId Recorder::storage_of(const at::Tensor& tensor) {
  return current_.at(tensor.storage().unsafeGetStorageImpl());
}

ValueId Recorder::value(StorageId storage, Layout layout) {
  const auto id = static_cast<ValueId>(captured_.values.size());
  const auto [found, added] = values_.emplace(Key(storage, layout), id);
  if (added) {
    captured_.values.push_back({storage, std::move(layout)});
  }
  return found->second;
}

ValueId Recorder::value_of(const at::Tensor& tensor) {
  if (!tensor.has_storage() || tensor.layout() != c10::kStrided) {
    refuse("the step uses a sparse tensor, and how much memory that takes depends on values: make it dense");
  }
  if (tensor.is_conj() || tensor.is_neg()) {
    refuse("the step uses a complex tensor that is conjugated lazily: call resolve_conj() on it");
  }
  if (is_known(tensor)) {
    return value(storage_of(tensor), Layout::of(tensor));
  }
  if (tensor.requires_grad() && tensor.is_leaf()) {
    refuse(
        fmt::format("the loss function uses a tensor of shape [{}] that requires a gradient and is not a "
                    "parameter of the model: put both into one torch::nn::Module and compile that",
                    c10::Join(", ", tensor.sizes())));
  }
  if (tensor.device().type() != at::kCPU) {
    refuse(fmt::format("the step uses a tensor on {}: one plan is for one device, and this one is for cpu",
                       tensor.device().str()));
  }
  const StorageId storage = new_storage(tensor, std::nullopt);
  at_start_.push_back(storage);
  captured_.constants.push_back(tensor.detach());
  inputs_.push_back(tensor);
  captured_.input_names.emplace_back("a tensor that neither the model nor the batch holds");
  captured_.inputs.push_back(value(storage, Layout::of(tensor)));
  return captured_.inputs.back();
}

void Recorder::run(const c10::OperatorHandle& op, c10::DispatchKeySet below, Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  Stack own(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
  stack->resize(stack->size() - count);
  record(op, below, own);
  stack->insert(stack->end(), own.begin(), own.end());
}

void Recorder::record(const c10::OperatorHandle& op, c10::DispatchKeySet below, Stack& stack) {
  const auto& schema = op.schema();
  if (schema.name() == "aten::equal") {
    stack = {same_tensor(stack[0].toTensor(), stack[1].toTensor())};
    return;
  }
  const auto& returns = schema.returns();
  if (asks_for_shapes(op)) {
    op.redispatchBoxed(below, &stack);
    return;
  }
  if (!std::all_of(returns.begin(), returns.end(), is_tensor_type)) {
    refuse(fmt::format(
        "the step branches on the values of tensors ({}, {}), but a plan needs a step that is the same "
        "for every batch: replace `if`, `.item()` or `bool()` on tensors by torch::where, or compute "
        "them before the step",
        schema.name(), where()));
  }
  if (has_dynamic_shape(op, stack)) {
    refuse(fmt::format(
        "the shape of a tensor depends on values ({}, {}), but a plan needs shapes that are known in "
        "advance: use a mask instead of selecting elements, or select them before the step",
        schema.name(), where()));
  }
  const Stack arguments = stack;
  const std::vector<std::uint32_t> written = written_arguments(op, arguments);
  if (written.empty() && is_view(op)) {
    for_each_tensor(arguments, [&](auto, auto, const at::Tensor& tensor) { value_of(tensor); });
    op.redispatchBoxed(below, &stack);
    return;
  }
  Node node = node_of(op, arguments);
  if (!written.empty()) {
    record_writes(std::move(node), written, stack, arguments);
    return;
  }
  make_results(op, stack, known_);
  record_new(std::move(node), stack);
}

void Recorder::record_new(Node node, const Stack& results) {
  const auto id = static_cast<NodeId>(captured_.nodes.size());
  add_results(node, id, results);
  add_node(std::move(node));
}

void Recorder::add_results(Node& node, NodeId id, const Stack& results) {
  for_each_tensor(
      results, [&](std::uint32_t position, std::optional<std::uint32_t> element, const at::Tensor& tensor) {
        if (!is_known(tensor)) {
          new_storage(tensor, id);
        }
        node.outputs.push_back({position, element, value_of(tensor)});
      });
}

void Recorder::add_node(Node node) {
  node.name = unique_name(node.op);
  captured_.nodes.push_back(std::move(node));
}

Node Recorder::node_of(const c10::OperatorHandle& op, const Stack& arguments) {
  Node node{.op = op, .name = {}, .arguments = arguments, .random = is_random(op, arguments)};
  for_each_tensor(
      arguments, [&](std::uint32_t position, std::optional<std::uint32_t> element, const at::Tensor& tensor) {
        if (is_number(tensor) && !element) {
          return;  // it stays among the arguments
        }
        node.inputs.push_back({position, element, value_of(tensor)});
        if (const auto found = parameter_of_.find(tensor.storage().unsafeGetStorageImpl());
            found != parameter_of_.end() && origin_.phase == Phase::kForward) {
          const std::string& name = captured_.input_names[found->second];
          const std::size_t dot = name.rfind('.');
          origin_.module = dot == std::string::npos ? "" : name.substr(0, dot);
        }
        if (!element) {
          node.arguments[position] = at::Tensor();
        }
      });
  for (c10::IValue& argument : node.arguments) {
    if (argument.isTensorList()) {
      argument = std::vector<at::Tensor>(argument.toListRef().size());
    } else if (argument.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> none;
      none.resize(argument.toListRef().size());
      argument = none;
    } else if (argument.isGenerator()) {
      refuse(fmt::format(
          "the step draws random numbers from a generator of its own ({}, {}): draw from torch's, or pass "
          "the numbers with the batch",
          op.schema().name(), where()));
    }
  }
  node.origin = origin_;
  return node;
}

void Recorder::record_writes(Node node, const std::vector<std::uint32_t>& written, Stack& stack,
                             const Stack& arguments) {
  const auto& schema = node.op.schema();
  if (schema.name() == "aten::native_batch_norm") {
    record_batch_norm(std::move(node), stack, arguments);
    return;
  }
  const bool one = written.size() == 1 && arguments[written[0]].isTensor();
  static const std::set<std::string> reshaping = {"aten::resize_", "aten::resize_as_", "aten::set_"};
  if (!one || reshaping.contains(schema.name())) {
    refuse(fmt::format(
        "the op {} ({}) changes tensors in a way that no plan can follow: use the form of it that "
        "returns a new tensor",
        schema.name(), where()));
  }
  const at::Tensor target = arguments[written[0]].toTensor();
  stack.assign(schema.returns().size(), target);
  if (written[0] != 0 || !record_functional(node, target, arguments)) {
    record_into_copy(std::move(node), written[0], target);
  }
}

bool Recorder::record_functional(const Node& node, const at::Tensor& target, const Stack& arguments) {
  const auto form = functional_form(node.op);
  if (!form || !covers(target)) {
    return false;
  }
  Stack results = arguments;
  make_results(*form, results, known_);
  const at::Tensor& result = results[0].toTensor();
  Layout layout = Layout::of(target);
  if (Layout::of(result) != layout) {
    return false;
  }
  const auto id = static_cast<NodeId>(captured_.nodes.size());
  Node functional = node;
  functional.op = *form;
  functional.outputs = {{0, std::nullopt, value(new_storage(target, id), std::move(layout))}};
  add_node(std::move(functional));
  return true;
}

void Recorder::record_batch_norm(Node node, Stack& stack, const Stack& arguments) {
  static const auto form =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::_native_batch_norm_legit_functional", "");
  Stack results = arguments;
  make_results(form, results, known_);
  const auto id = static_cast<NodeId>(captured_.nodes.size());
  node.op = form;
  add_results(node, id, {results.begin(), results.begin() + 3});
  for (const std::uint32_t moved : {3U, 4U}) {
    const at::Tensor target = arguments[moved].toTensor();
    node.outputs.push_back(
        {moved, std::nullopt, value(new_storage(target, id), Layout::of(results[moved].toTensor()))});
  }
  add_node(std::move(node));
  stack.assign(results.begin(), results.begin() + 3);
}

void Recorder::record_into_copy(Node node, std::uint32_t written, const at::Tensor& target) {
  static const auto clone = c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", "");
  const auto size = static_cast<std::int64_t>(target.element_size());
  // The whole storage in a row: what is around the target must come along.
  Layout whole{.sizes = {captured_.storages[storage_of(target)].bytes / size},
               .strides = {1},
               .type = target.scalar_type()};
  Node copy{.op = clone,
            .name = {},
            .arguments = {at::Tensor(), c10::IValue()},
            .writing = Writing::kCopy,
            .origin = origin_};
  copy.inputs = {{0, std::nullopt, value(storage_of(target), whole)}};
  const auto id = static_cast<NodeId>(captured_.nodes.size());
  const StorageId fresh = new_storage(target, id);
  captured_.storages[fresh].bytes = whole.sizes[0] * size;
  copy.outputs = {{0, std::nullopt, value(fresh, std::move(whole))}};
  add_node(std::move(copy));
  const ValueId over = value(fresh, Layout::of(target));
  for (Input& input : node.inputs) {
    if (input.position == written) {
      input.value = over;
    }
  }
  node.writing = Writing::kIntoCopy;
  node.outputs = {{0, std::nullopt, over}};
  add_node(std::move(node));
}

void Recorder::add_to(const at::Tensor& existing, const std::string& parameter, ValueId gradient) {
  static const auto add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add_", "Tensor");
  const ValueId total = value(new_storage(existing, std::nullopt), Layout::of(existing));
  captured_.inputs.push_back(total);
  captured_.input_names.push_back("the gradient of " + parameter);
  Node node{.op = add, .name = {}, .arguments = {at::Tensor(), at::Tensor(), 1}, .writing = Writing::kInput};
  node.inputs = {{0, std::nullopt, total}, {1, std::nullopt, gradient}};
  node.origin = {.phase = Phase::kUpdate};
  add_node(std::move(node));
}

std::vector<Update> Recorder::updates() {
  std::vector<Update> found;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (const StorageId now = storage_of(inputs_[i]); now != at_start_[i]) {
      found.push_back({i, value(now, Layout::of(inputs_[i]))});
    }
  }
  return found;
}

std::string Recorder::unique_name(const c10::OperatorHandle& op) {
  std::string name = base_name(op);
  while (name.ends_with('_')) {
    name.pop_back();
  }
  const int count = name_counts_[name]++;
  return count == 0 ? name : fmt::format("{}_{}", name, count);
}

std::string Recorder::where() const {
  if (origin_.phase != Phase::kForward) {
    return "in the backward pass";
  }
  return origin_.module.empty() ? "in the model or the loss function"
                                : "in or after the module " + origin_.module;
}

void Recorder::refuse(const std::string& why) {
  if (refused_.empty()) {
    refused_ = why;
  }
  throw Refusal(why);
}

}  // namespace checkmate::torch
