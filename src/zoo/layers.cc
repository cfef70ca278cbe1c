#include "zoo/layers.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace checkmate::zoo {
namespace {

constexpr std::int64_t kBytesPerElement = 4;

void require(bool fits, const std::string& layer) {
  if (!fits) throw std::logic_error("zoo layer " + layer + " does not fit its inputs");
}

std::int64_t positions(std::int64_t input, std::int64_t window, std::int64_t stride, Padding padding) {
  return padding == Padding::kSame ? (input + stride - 1) / stride : (input - window + stride) / stride;
}

/// The shape that a sliding window leaves.
Shape slide(const Shape& input, const Extent& window, std::int64_t stride, Padding padding) {
  return {positions(input.height, window.height, stride, padding),
          positions(input.width, window.width, stride, padding), input.channels};
}

std::int64_t area(const Extent& extent) { return extent.height * extent.width; }

std::int64_t weights(const Extent& kernel, std::int64_t channels, std::int64_t filters, bool bias) {
  return (area(kernel) * channels + (bias ? 1 : 0)) * filters;
}

/// Stays at the largest number where the product is past it: GraphBuilder::build() then refuses the sum.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace

LayerNetwork::LayerNetwork(const Shape& image) {
  layers_.push_back({.name = "image", .kind = {}, .inputs = {}, .shape = image});
}

LayerId LayerNetwork::push(Layer layer) {
  require(std::min({layer.shape.height, layer.shape.width, layer.shape.channels}) > 0, layer.name);
  const LayerId id{static_cast<std::uint32_t>(layers_.size())};
  layers_.push_back(std::move(layer));
  return id;
}

LayerId LayerNetwork::conv(std::string name, LayerId input, const Conv& conv) {
  const std::int64_t channels = shape(input).channels;
  Shape output = slide(shape(input), conv.kernel, conv.stride, conv.padding);
  output.channels = conv.filters;
  return push({.name = std::move(name),
               .kind = "conv2d",
               .inputs = {input},
               .shape = output,
               .macs = area(conv.kernel) * channels * output.elements(),
               .parameters = weights(conv.kernel, channels, conv.filters, conv.bias)});
}

LayerId LayerNetwork::depthwise_conv(std::string name, LayerId input, const DepthwiseConv& conv) {
  const Shape output = slide(shape(input), conv.kernel, conv.stride, conv.padding);
  return push({.name = std::move(name),
               .kind = "depthwise_conv2d",
               .inputs = {input},
               .shape = output,
               .macs = area(conv.kernel) * output.elements(),
               .parameters = weights(conv.kernel, 1, output.channels, conv.bias)});
}

LayerId LayerNetwork::transposed_conv(std::string name, LayerId input, const TransposedConv& conv) {
  const auto [height, width, channels] = shape(input);
  const Shape output = {(height - 1) * conv.stride + conv.kernel.height,
                        (width - 1) * conv.stride + conv.kernel.width, conv.filters};
  return push({.name = std::move(name),
               .kind = "conv2d_transpose",
               .inputs = {input},
               .shape = output,
               .macs = channels * output.elements(),
               .parameters = weights(conv.kernel, channels, conv.filters, conv.bias)});
}

LayerId LayerNetwork::dense(std::string name, LayerId input, std::int64_t features) {
  const std::int64_t elements = shape(input).elements();
  return push({.name = std::move(name),
               .kind = "dense",
               .inputs = {input},
               .shape = {1, 1, features},
               .macs = elements * features,
               .parameters = (elements + 1) * features});
}

LayerId LayerNetwork::batch_norm(std::string name, LayerId input, bool scale) {
  return push({.name = std::move(name),
               .kind = "batch_norm",
               .inputs = {input},
               .shape = shape(input),
               .macs = 4 * shape(input).elements(),
               .parameters = (scale ? 4 : 3) * shape(input).channels});
}

LayerId LayerNetwork::activation(std::string name, LayerId input, std::string kind) {
  return push({.name = std::move(name),
               .kind = std::move(kind),
               .inputs = {input},
               .shape = shape(input),
               .macs = shape(input).elements()});
}

LayerId LayerNetwork::max_pool(std::string name, LayerId input, const Pool& pool) {
  const Shape output = slide(shape(input), pool.window, pool.stride, pool.padding);
  return push({.name = std::move(name), .kind = "max_pool", .inputs = {input}, .shape = output});
}

LayerId LayerNetwork::avg_pool(std::string name, LayerId input, const Pool& pool) {
  const Shape output = slide(shape(input), pool.window, pool.stride, pool.padding);
  return push({.name = std::move(name), .kind = "avg_pool", .inputs = {input}, .shape = output});
}

LayerId LayerNetwork::global_avg_pool(std::string name, LayerId input) {
  const Shape output = {1, 1, shape(input).channels};
  return push({.name = std::move(name), .kind = "global_avg_pool", .inputs = {input}, .shape = output});
}

LayerId LayerNetwork::zero_pad(std::string name, LayerId input, std::int64_t before, std::int64_t after) {
  const auto [height, width, channels] = shape(input);
  const Shape output = {before + height + after, before + width + after, channels};
  return push({.name = std::move(name), .kind = "zero_pad", .inputs = {input}, .shape = output});
}

LayerId LayerNetwork::upsample(std::string name, LayerId input, std::int64_t factor) {
  const auto [height, width, channels] = shape(input);
  const Shape output = {height * factor, width * factor, channels};
  return push({.name = std::move(name),
               .kind = "upsample",
               .inputs = {input},
               .shape = output,
               .macs = output.elements()});
}

LayerId LayerNetwork::crop(std::string name, LayerId input, const Extent& kept) {
  require(kept.height <= shape(input).height && kept.width <= shape(input).width, name);
  const Shape output = {kept.height, kept.width, shape(input).channels};
  return push({.name = std::move(name), .kind = "crop", .inputs = {input}, .shape = output});
}

LayerId LayerNetwork::concat(std::string name, std::vector<LayerId> inputs) {
  Shape output = {shape(inputs.front()).height, shape(inputs.front()).width, 0};
  for (const LayerId input : inputs) {
    const auto [height, width, channels] = shape(input);
    require(height == output.height && width == output.width, name);
    output.channels += channels;
  }
  return push({.name = std::move(name), .kind = "concat", .inputs = std::move(inputs), .shape = output});
}

LayerId LayerNetwork::add(std::string name, std::vector<LayerId> inputs) {
  const Shape output = shape(inputs.front());
  for (const LayerId input : inputs) require(shape(input) == output, name);
  const std::int64_t macs = static_cast<std::int64_t>(inputs.size()) * output.elements();
  return push(
      {.name = std::move(name), .kind = "add", .inputs = std::move(inputs), .shape = output, .macs = macs});
}

LayerId LayerNetwork::reshape(std::string name, LayerId input, const Shape& shape) {
  require(shape.elements() == this->shape(input).elements(), name);
  return push({.name = std::move(name), .kind = "reshape", .inputs = {input}, .shape = shape});
}

LayerId LayerNetwork::flatten(std::string name, LayerId input) {
  const Shape output = {1, 1, shape(input).elements()};
  return push({.name = std::move(name), .kind = "flatten", .inputs = {input}, .shape = output});
}

LayerId LayerNetwork::dropout(std::string name, LayerId input) {
  return push({.name = std::move(name), .kind = "dropout", .inputs = {input}, .shape = shape(input)});
}

std::int64_t LayerNetwork::parameter_count() const {
  std::int64_t count = 0;
  for (const Layer& layer : layers_) count += layer.parameters;
  return count;
}

Result<Graph> LayerNetwork::training_graph(const std::string& name, std::int64_t batch) const {
  GraphBuilder builder(name, "mac");
  // Every parameter and its gradient.
  builder.set_reserved_bytes(2 * kBytesPerElement * Bytes{parameter_count()});

  const auto bytes = [batch](const Layer& layer) {
    return Bytes{saturating_product(kBytesPerElement * layer.shape.elements(), batch)};
  };
  std::vector<TensorId> outputs(layers_.size());
  std::vector<std::vector<LayerId>> consumers(layers_.size());
  for (LayerId id{1}; id.index() < layers_.size(); ++id.value) {
    const Layer& layer = layers_[id.index()];
    OpSpec op = {.name = layer.name,
                 .kind = layer.kind,
                 .cost = Cost{saturating_product(layer.macs, batch)},
                 .inputs = {},
                 .outputs = {}};
    for (const LayerId input : layer.inputs) {
      consumers[input.index()].push_back(id);
      if (input != image()) op.inputs.push_back(outputs[input.index()]);
    }
    outputs[id.index()] = builder.add_op_with_output(std::move(op), bytes(layer));
  }

  const TensorId loss = builder.add_op_with_output({.name = "loss",
                                                    .kind = "loss",
                                                    .cost = {},
                                                    .inputs = {outputs.back()},
                                                    .outputs = {},
                                                    .phase = Phase::kLoss},
                                                   kBytesPerElement * Bytes{batch});

  std::vector<TensorId> gradients(layers_.size());
  for (std::size_t i = layers_.size() - 1; i > 0; --i) {
    const Layer& layer = layers_[i];
    OpSpec op = {.name = layer.name + "_grad",
                 .kind = layer.kind + "_grad",
                 .cost = Cost{saturating_product(2 * layer.macs, batch)},
                 .inputs = {outputs[i]},
                 .outputs = {},
                 .phase = Phase::kBackward};
    for (const LayerId consumer : consumers[i]) {
      op.inputs.insert(op.inputs.end(), {outputs[consumer.index()], gradients[consumer.index()]});
    }
    if (i + 1 == layers_.size()) op.inputs.push_back(loss);
    gradients[i] = builder.add_op_with_output(std::move(op), bytes(layer));
  }
  return std::move(builder).build();
}

}  // namespace checkmate::zoo
