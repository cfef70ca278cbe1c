#include <fmt/format.h>

#include <array>

#include "zoo/image_arguments.h"
#include "zoo/layers.h"

namespace checkmate::zoo {
namespace {

/// Of the pointwise convolutions, one per block.
constexpr std::array<std::int64_t, 13> kFilters = {64,  128, 128, 256, 256,  512, 512,
                                                   512, 512, 512, 512, 1024, 1024};

LayerId normalize(LayerNetwork& net, const std::string& name, LayerId x) {
  return net.activation(name + "_relu", net.batch_norm(name + "_bn", x), "relu6");
}

/// A block that doubles the channels halves the image, all but the first. Its window then stands on explicit
/// padding, below and to the right only.
LayerId separable_block(LayerNetwork& net, int number, LayerId x, std::int64_t filters) {
  const std::string depthwise = fmt::format("conv_dw_{}", number);
  if (number > 1 && filters > net.shape(x).channels) {
    x = net.zero_pad(fmt::format("conv_pad_{}", number), x, 0, 1);
    x = net.depthwise_conv(depthwise, x, {.stride = 2, .padding = Padding::kValid, .bias = false});
  } else {
    x = net.depthwise_conv(depthwise, x, {.bias = false});
  }
  x = normalize(net, depthwise, x);
  const std::string pointwise = fmt::format("conv_pw_{}", number);
  x = net.conv(pointwise, x, {.filters = filters, .kernel = 1, .bias = false});
  return normalize(net, pointwise, x);
}

Result<Graph> mobilenet(const std::string& name, Arguments& arguments) {
  const auto [batch, size, classes] = image_arguments(arguments);
  if (arguments.error()) return *arguments.error();

  LayerNetwork net({size, size, 3});
  LayerId x = net.zero_pad("conv1_pad", LayerNetwork::image(), 0, 1);
  x = net.conv("conv1", x, {.filters = 32, .stride = 2, .padding = Padding::kValid, .bias = false});
  x = normalize(net, "conv1", x);
  int number = 0;
  for (const std::int64_t filters : kFilters) x = separable_block(net, ++number, x, filters);

  x = net.global_avg_pool("global_average_pooling2d", x);
  x = net.reshape("reshape_1", x, net.shape(x));
  x = net.dropout("dropout", x);
  x = net.conv("conv_preds", x, {.filters = classes, .kernel = 1});
  x = net.reshape("reshape_2", x, net.shape(x));
  net.activation("act_softmax", x, "softmax");
  return net.training_graph(name, batch);
}

constexpr std::array kRecipes = {
    Recipe{{"mobilenet", "MobileNet v1 of full width", kClassifierParameters}, mobilenet}};

}  // namespace

std::span<const Recipe> mobilenets() { return kRecipes; }

}  // namespace checkmate::zoo
