#include "torch/shape_rules.h"

#include <ATen/core/IListRef.h>
#include <c10/core/MemoryFormat.h>

#include <unordered_map>

#include "torch/ghosts.h"

namespace checkmate::torch {
namespace {

using Results = std::vector<at::Tensor>;
using Sizes = std::vector<std::int64_t>;

/// Dense, in the order of dimensions that the format says.
at::Tensor in_format(const Sizes& sizes, c10::ScalarType type, at::MemoryFormat format) {
  Layout layout{.sizes = sizes, .type = type};
  if (format == at::MemoryFormat::ChannelsLast) {
    layout.strides = c10::get_channels_last_strides_2d(sizes);
  } else if (format == at::MemoryFormat::ChannelsLast3d) {
    layout.strides = c10::get_channels_last_strides_3d(sizes);
  } else {
    return ghost(sizes, type);
  }
  return ghost(layout);
}

at::Tensor like(const at::Tensor& tensor) {
  return in_format(tensor.sizes().vec(), tensor.scalar_type(), tensor.suggest_memory_format());
}

/// Dense, with the strides in the order of those of the tensor.
at::Tensor in_order_of(const at::Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense()) {
    return ghost(tensor.sizes(), tensor.scalar_type());
  }
  Layout layout = Layout::of(tensor);
  layout.offset = 0;
  return ghost(layout);
}

at::Tensor contiguous(const Sizes& sizes, const at::Tensor& type_of) {
  return ghost(sizes, type_of.scalar_type());
}

/// One number per dimension; a single one stands for all.
Sizes per_dimension(const c10::IValue& numbers, std::size_t dimensions) {
  Sizes found = numbers.toIntVector();
  if (found.size() == 1) {
    found.resize(dimensions, found[0]);
  }
  return found;
}

std::int64_t window_count(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                          std::int64_t dilation, bool ceil) {
  const std::int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
  std::int64_t count = (span + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (count - 1) * stride >= size + padding) {
    --count;  // the last window would begin outside
  }
  return count;
}

at::MemoryFormat format_of_convolution(const at::Tensor& input, const at::Tensor& weight) {
  const at::MemoryFormat of_input = input.suggest_memory_format();
  return of_input != at::MemoryFormat::Contiguous ? of_input : weight.suggest_memory_format();
}

Results convolution(const Stack& a) {
  const at::Tensor& input = a[0].toTensor();
  const at::Tensor& weight = a[1].toTensor();
  const auto dimensions = static_cast<std::size_t>(input.dim() - 2);
  const Sizes stride = per_dimension(a[3], dimensions);
  const Sizes padding = per_dimension(a[4], dimensions);
  const Sizes dilation = per_dimension(a[5], dimensions);
  const bool transposed = a[6].toBool();
  const Sizes output_padding = per_dimension(a[7], dimensions);
  const std::int64_t groups = a[8].toInt();
  TORCH_CHECK(input.dim() == weight.dim(), "expected ", weight.dim(), "D input to the convolution, got ",
              input.dim(), "D");
  TORCH_CHECK(transposed ? input.size(1) == weight.size(0) : input.size(1) == weight.size(1) * groups,
              "the convolution's weight of size ", weight.sizes(), " does not fit an input of size ",
              input.sizes());
  Sizes sizes = {input.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto axis = static_cast<std::int64_t>(i + 2);
    sizes.push_back(transposed ? (input.size(axis) - 1) * stride[i] - 2 * padding[i] +
                                     dilation[i] * (weight.size(axis) - 1) + output_padding[i] + 1
                               : window_count(input.size(axis), weight.size(axis), stride[i], padding[i],
                                              dilation[i], false));
  }
  return {in_format(sizes, input.scalar_type(), format_of_convolution(input, weight))};
}

Results convolution_backward(const Stack& a) {
  const at::Tensor& input = a[1].toTensor();
  const at::Tensor& weight = a[2].toTensor();
  const at::MemoryFormat format = format_of_convolution(input, weight);
  const auto wanted = a[10].toBoolList();
  return {wanted[0] ? in_format(input.sizes().vec(), input.scalar_type(), format) : at::Tensor(),
          wanted[1] ? in_format(weight.sizes().vec(), weight.scalar_type(), format) : at::Tensor(),
          wanted[2] ? contiguous({a[0].toTensor().size(1)}, weight) : at::Tensor()};
}

Results batch_norm(const Stack& a) {
  const at::Tensor& input = a[0].toTensor();
  const at::Tensor& weight = a[1].isTensor() ? a[1].toTensor() : at::Tensor();
  const Sizes channels = {a[5].toBool() ? input.size(1) : 0};
  const c10::ScalarType type = weight.defined() ? weight.scalar_type() : input.scalar_type();
  return {like(input), ghost(channels, type), ghost(channels, type)};
}

/// With the moved averages as results.
Results batch_norm_functional(const Stack& a) {
  Results results = batch_norm(a);
  results.push_back(in_order_of(a[3].toTensor()));
  results.push_back(in_order_of(a[4].toTensor()));
  return results;
}

Results batch_norm_backward(const Stack& a) {
  const at::Tensor& input = a[1].toTensor();
  const at::Tensor& weight = a[2].isTensor() ? a[2].toTensor() : at::Tensor();
  const c10::ScalarType type = weight.defined() ? weight.scalar_type() : input.scalar_type();
  const auto wanted = a[9].toBoolList();
  const Sizes channels = {input.size(1)};
  return {wanted[0] ? like(input) : at::Tensor(), wanted[1] ? ghost(channels, type) : at::Tensor(),
          wanted[2] ? ghost(channels, type) : at::Tensor()};
}

Results layer_norm(const Stack& a) {
  const at::Tensor& input = a[0].toTensor();
  const auto axes = a[1].toIntVector().size();
  Sizes rows = input.sizes().vec();
  std::fill(rows.end() - static_cast<std::ptrdiff_t>(axes), rows.end(), 1);
  return {contiguous(input.sizes().vec(), input), contiguous(rows, input), contiguous(rows, input)};
}

Results layer_norm_backward(const Stack& a) {
  const at::Tensor& input = a[1].toTensor();
  const auto wanted = a[7].toBoolList();
  const Sizes shape = a[2].toIntVector();
  return {wanted[0] ? contiguous(input.sizes().vec(), input) : at::Tensor(),
          wanted[1] ? contiguous(shape, a[5].toTensor()) : at::Tensor(),
          wanted[2] ? contiguous(shape, a[6].toTensor()) : at::Tensor()};
}

Results group_norm(const Stack& a) {
  const at::Tensor& input = a[0].toTensor();
  const Sizes groups = {a[3].toInt(), a[6].toInt()};
  return {like(input), contiguous(groups, input), contiguous(groups, input)};
}

Results group_norm_backward(const Stack& a) {
  const at::Tensor& input = a[1].toTensor();
  const auto wanted = a[9].toBoolList();
  const Sizes channels = {a[6].toInt()};
  return {wanted[0] ? like(input) : at::Tensor(), wanted[1] ? contiguous(channels, input) : at::Tensor(),
          wanted[2] ? contiguous(channels, input) : at::Tensor()};
}

/// A result of the shape of that argument.
template <std::size_t Argument>
Results as_argument(const Stack& a) {
  return {in_order_of(a[Argument].toTensor())};
}

Results embedding(const Stack& a) {
  const at::Tensor& weight = a[0].toTensor();
  Sizes sizes = a[1].toTensor().sizes().vec();
  sizes.push_back(weight.size(1));
  return {contiguous(sizes, weight)};
}

Results embedding_dense_backward(const Stack& a) {
  const at::Tensor& gradient = a[0].toTensor();
  return {contiguous({a[2].toInt(), gradient.size(-1)}, gradient)};
}

Results max_pool2d_with_indices(const Stack& a) {
  const at::Tensor& input = a[0].toTensor();
  const Sizes kernel = per_dimension(a[1], 2);
  const Sizes stride = a[2].toIntVector().empty() ? kernel : per_dimension(a[2], 2);
  const Sizes padding = per_dimension(a[3], 2);
  const Sizes dilation = per_dimension(a[4], 2);
  Sizes sizes = input.sizes().vec();
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = sizes[sizes.size() - 2 + i];
    size = window_count(size, kernel[i], stride[i], padding[i], dilation[i], a[5].toBool());
  }
  const at::MemoryFormat format = input.suggest_memory_format();
  return {in_format(sizes, input.scalar_type(), format), in_format(sizes, c10::ScalarType::Long, format)};
}

Results adaptive_avg_pool2d(const Stack& a) {
  const at::Tensor& input = a[0].toTensor();
  const Sizes wanted = a[1].toIntVector();
  Sizes sizes = input.sizes().vec();
  std::copy(wanted.begin(), wanted.end(), sizes.end() - 2);
  return {in_format(sizes, input.scalar_type(), input.suggest_memory_format())};
}

Results flash_attention(const Stack& a) {
  const at::Tensor& query = a[0].toTensor();
  const std::int64_t batch = query.size(0);
  const std::int64_t heads = query.size(1);
  const std::int64_t length = query.size(2);
  const std::int64_t width = a[2].toTensor().size(3);
  const c10::ScalarType type = query.scalar_type() == c10::kDouble ? c10::kDouble : c10::kFloat;
  const Layout result{{batch, heads, length, width},
                      {length * heads * width, width, heads * width, 1},
                      0,
                      query.scalar_type()};
  const Layout sums{{batch, heads, length}, {length * heads, 1, heads}, 0, type};
  return {ghost(result), ghost(sums)};
}

const std::unordered_map<std::string, ShapeRule>& rules() {
  static const std::unordered_map<std::string, ShapeRule> all = {
      {"aten::convolution", convolution},
      {"aten::convolution_overrideable", convolution},
      {"aten::convolution_backward", convolution_backward},
      {"aten::native_batch_norm", batch_norm},
      {"aten::_native_batch_norm_legit_functional", batch_norm_functional},
      {"aten::native_batch_norm_backward", batch_norm_backward},
      {"aten::native_layer_norm", layer_norm},
      {"aten::native_layer_norm_backward", layer_norm_backward},
      {"aten::native_group_norm", group_norm},
      {"aten::native_group_norm_backward", group_norm_backward},
      {"aten::relu", as_argument<0>},
      {"aten::embedding", embedding},
      {"aten::embedding_dense_backward", embedding_dense_backward},
      {"aten::max_pool2d_with_indices", max_pool2d_with_indices},
      {"aten::_adaptive_avg_pool2d", adaptive_avg_pool2d},
      {"aten::_adaptive_avg_pool2d_backward", [](const Stack& a) { return Results{like(a[1].toTensor())}; }},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", flash_attention},
      {"aten::bernoulli", as_argument<0>},
  };
  return all;
}

}  // namespace

const ShapeRule* shape_rule(const std::string& op) {
  const auto found = rules().find(op);
  return found == rules().end() ? nullptr : &found->second;
}

}  // namespace checkmate::torch
