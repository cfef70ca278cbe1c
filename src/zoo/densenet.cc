#include <fmt/format.h>

#include <array>

#include "zoo/image_arguments.h"
#include "zoo/layers.h"

namespace checkmate::zoo {
namespace {

struct Variant {
  std::int64_t first_filters;
  std::int64_t growth;        ///< channels that each dense layer adds
  std::array<int, 4> blocks;  ///< dense layers a block
};
constexpr Variant kDepth121 = {.first_filters = 64, .growth = 32, .blocks = {6, 12, 24, 16}};
constexpr Variant kDepth161 = {.first_filters = 96, .growth = 48, .blocks = {6, 12, 36, 24}};

LayerId bn_relu(LayerNetwork& net, const std::string& prefix, LayerId x) {
  return net.activation(prefix + "_relu", net.batch_norm(prefix + "_bn", x), "relu");
}

LayerId dense_layer(LayerNetwork& net, const std::string& prefix, LayerId input, std::int64_t growth) {
  LayerId x = bn_relu(net, prefix + "_0", input);
  x = net.conv(prefix + "_1_conv", x, {.filters = 4 * growth, .kernel = 1, .bias = false});
  x = bn_relu(net, prefix + "_1", x);
  x = net.conv(prefix + "_2_conv", x, {.filters = growth, .bias = false});
  return net.concat(prefix + "_concat", {input, x});
}

/// Halves channels, height and width.
LayerId transition(LayerNetwork& net, const std::string& prefix, LayerId x) {
  x = bn_relu(net, prefix, x);
  x = net.conv(prefix + "_conv", x, {.filters = net.shape(x).channels / 2, .kernel = 1, .bias = false});
  return net.avg_pool(prefix + "_pool", x);
}

Result<Graph> densenet(const std::string& name, Arguments& arguments, const Variant& variant) {
  const auto [batch, size, classes] = image_arguments(arguments);
  if (arguments.error()) return *arguments.error();

  LayerNetwork net({size, size, 3});
  LayerId x = net.zero_pad("conv1_pad", LayerNetwork::image(), 3, 3);
  x = net.conv("conv1_conv", x,
               {.filters = variant.first_filters,
                .kernel = 7,
                .stride = 2,
                .padding = Padding::kValid,
                .bias = false});
  x = bn_relu(net, "conv1", x);
  x = net.zero_pad("pool1_pad", x, 1, 1);
  x = net.max_pool("pool1", x, {.window = 3});
  int number = 2;
  for (const int layers : variant.blocks) {
    if (number > 2) x = transition(net, fmt::format("pool{}", number - 1), x);
    for (int layer = 1; layer <= layers; ++layer) {
      x = dense_layer(net, fmt::format("conv{}_block{}", number, layer), x, variant.growth);
    }
    ++number;
  }
  x = bn_relu(net, "final", x);
  x = net.global_avg_pool("avg_pool", x);
  net.dense("predictions", x, classes);
  return net.training_graph(name, batch);
}

constexpr std::array kRecipes = {
    Recipe{
        {"densenet121", "DenseNet of 121 layers with weights, growth 32", kClassifierParameters},
        [](const std::string& name, Arguments& arguments) { return densenet(name, arguments, kDepth121); }},
    Recipe{
        {"densenet161", "DenseNet of 161 layers with weights, growth 48", kClassifierParameters},
        [](const std::string& name, Arguments& arguments) { return densenet(name, arguments, kDepth161); }},
};

}  // namespace

std::span<const Recipe> densenets() { return kRecipes; }

}  // namespace checkmate::zoo
