#include "torch/op_traits.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "torch/captured.h"

namespace checkmate::torch {
namespace {

bool has_tag(const c10::OperatorHandle& op, at::Tag tag) {
  const auto tags = op.getTags();
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

std::optional<c10::OperatorHandle> find(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload});
}

bool same_arguments(const c10::OperatorHandle& a, const c10::OperatorHandle& b) {
  const auto& first = a.schema().arguments();
  const auto& second = b.schema().arguments();
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const c10::Argument& x, const c10::Argument& y) { return x.name() == y.name(); });
}

bool writes_first(const c10::OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  const bool first =
      !arguments.empty() && arguments[0].alias_info() != nullptr && arguments[0].alias_info()->isWrite();
  const auto writes = [](const c10::Argument& a) {
    return a.alias_info() != nullptr && a.alias_info()->isWrite();
  };
  return first && std::count_if(arguments.begin(), arguments.end(), writes) == 1;
}

bool returns_one_tensor(const c10::OperatorHandle& op) {
  const auto& returns = op.schema().returns();
  return returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::TensorType;
}

const c10::IValue* argument(const c10::OperatorHandle& op, const Stack& arguments, const std::string& name) {
  const auto position = op.schema().argumentIndexWithName(name);
  return position ? &arguments[static_cast<std::size_t>(*position)] : nullptr;
}

}  // namespace

std::string base_name(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  return name.substr(name.find("::") + 2);
}

std::string python_name(const c10::OperatorHandle& op) {
  const std::string_view name = op.schema().name();
  const std::size_t colons = name.find("::");
  const std::string& overload = op.schema().overload_name();
  return fmt::format("{}.{}.{}", name.substr(0, colons), name.substr(colons + 2),
                     overload.empty() ? "default" : std::string_view(overload));
}

bool is_view(const c10::OperatorHandle& op) {
  static const std::set<std::string> hidden = {"aten::_unsafe_view", "aten::_reshape_alias",
                                               "aten::lift_fresh"};
  if (hidden.contains(op.schema().name())) {
    return true;
  }
  const auto& returns = op.schema().returns();
  return std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
}

std::vector<std::uint32_t> written_arguments(const c10::OperatorHandle& op, const Stack& arguments) {
  std::vector<std::uint32_t> written;
  const auto& schema = op.schema();
  for (std::uint32_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      written.push_back(i);
    }
  }
  // In training, it moves the averages; its schema does not say so.
  if (schema.name() == "aten::native_batch_norm" && arguments[5].toBool() && arguments[3].isTensor() &&
      arguments[3].toTensor().defined()) {
    written = {3, 4};
  }
  return written;
}

bool is_random(const c10::OperatorHandle& op, const Stack& arguments) {
  if (!has_tag(op, at::Tag::nondeterministic_seeded)) {
    return false;
  }
  // Attention carries the tag for the sake of its dropout.
  const c10::IValue* dropout = argument(op, arguments, "dropout_p");
  return dropout == nullptr || !dropout->isDouble() || dropout->toDouble() != 0.0;
}

std::optional<c10::OperatorHandle> functional_form(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  // It fills in the order of memory, its functional form in that of the indices.
  if (name.back() != '_' || !writes_first(op) || name == "aten::bernoulli_") {
    return std::nullopt;
  }
  const auto form = find(name.substr(0, name.size() - 1), op.schema().overload_name());
  return form && same_arguments(op, *form) && returns_one_tensor(*form) ? form : std::nullopt;
}

std::optional<c10::OperatorHandle> in_place_form(const c10::OperatorHandle& op) {
  // In addition to pointwise ops, those that write into a part of their first argument, or over all of it.
  static const std::set<std::string> writing = {"copy",        "fill",    "index_add",  "index_put",
                                                "masked_fill", "scatter", "scatter_add"};
  if (!has_tag(op, at::Tag::pointwise) && !writing.contains(base_name(op))) {
    return std::nullopt;
  }
  const auto form = find(op.schema().name() + "_", op.schema().overload_name());
  return form && same_arguments(op, *form) && writes_first(*form) && returns_one_tensor(op) ? form
                                                                                            : std::nullopt;
}

bool is_commutative(const c10::OperatorHandle& op, const Stack& arguments) {
  const std::string name = python_name(op);
  const c10::IValue* alpha = argument(op, arguments, "alpha");
  return (name == "aten.add.Tensor" || name == "aten.mul.Tensor") &&
         (alpha == nullptr || (alpha->isInt() && alpha->toInt() == 1));
}

bool has_dynamic_shape(const c10::OperatorHandle& op, const Stack& arguments) {
  if (has_tag(op, at::Tag::dynamic_output_shape) && op.schema().name() != "aten::index") {
    return true;
  }
  if (op.schema().name() != "aten::index") {
    return false;
  }
  const auto selects = [](const std::optional<at::Tensor>& index) {
    return index && index->defined() &&
           (index->scalar_type() == c10::kBool || index->scalar_type() == c10::kByte);
  };
  const auto indices = arguments[1].toOptionalTensorVector();
  return std::any_of(indices.begin(), indices.end(), selects);
}

bool asks_for_shapes(const c10::OperatorHandle& op) {
  static const std::set<std::string> names = {
      "aten::is_same_size",       "aten::_has_compatible_shallow_copy_type",
      "aten::_fused_sdp_choice",  "aten::is_pinned",
      "aten::dense_dim",          "aten::sparse_dim",
      "aten::sym_numel",          "aten::sym_size",
      "aten::sym_stride",         "aten::sym_storage_offset",
      "aten::_use_cudnn_ctc_loss"};
  return names.contains(op.schema().name());
}

}  // namespace checkmate::torch
