#include <fmt/format.h>

#include <array>

#include "zoo/image_arguments.h"
#include "zoo/layers.h"

namespace checkmate::zoo {
namespace {

/// How many bottleneck blocks each of the four stages has.
using Stages = std::array<std::int64_t, 4>;
constexpr Stages kDepth50 = {3, 4, 6, 3};
constexpr Stages kDepth101 = {3, 4, 23, 3};
constexpr Stages kDepth152 = {3, 8, 36, 3};

LayerId conv_bn_relu(LayerNetwork& net, const std::string& prefix, LayerId x, const Conv& conv) {
  x = net.conv(prefix + "_conv", x, conv);
  x = net.batch_norm(prefix + "_bn", x);
  return net.activation(prefix + "_relu", x, "relu");
}

/// Version 1: the first convolution has the stride, and the sum is taken before the activation.
LayerId bottleneck(LayerNetwork& net, const std::string& prefix, LayerId input, std::int64_t filters,
                   std::int64_t stride, bool project) {
  LayerId x = conv_bn_relu(net, prefix + "_1", input, {.filters = filters, .kernel = 1, .stride = stride});
  x = conv_bn_relu(net, prefix + "_2", x, {.filters = filters});
  // Keras runs layers by their distance to the output, which lets the two ways to the sum take turns.
  LayerId shortcut = input;
  if (project) {
    shortcut = net.conv(prefix + "_0_conv", input, {.filters = 4 * filters, .kernel = 1, .stride = stride});
  }
  x = net.conv(prefix + "_3_conv", x, {.filters = 4 * filters, .kernel = 1});
  if (project) shortcut = net.batch_norm(prefix + "_0_bn", shortcut);
  x = net.batch_norm(prefix + "_3_bn", x);
  return net.activation(prefix + "_out", net.add(prefix + "_add", {shortcut, x}), "relu");
}

Result<Graph> resnet(const std::string& name, const ImageArguments& image, const Stages& stages,
                     std::int64_t repeat) {
  LayerNetwork net({image.size, image.size, 3});
  LayerId x = net.zero_pad("conv1_pad", LayerNetwork::image(), 3, 3);
  x = conv_bn_relu(net, "conv1", x, {.filters = 64, .kernel = 7, .stride = 2, .padding = Padding::kValid});
  x = net.zero_pad("pool1_pad", x, 1, 1);
  x = net.max_pool("pool1_pool", x, {.window = 3});

  std::int64_t filters = 64;
  std::int64_t number = 2;
  for (const std::int64_t blocks : stages) {
    for (std::int64_t block = 1; block <= blocks * repeat; ++block) {
      const bool first = block == 1;
      x = bottleneck(net, fmt::format("conv{}_block{}", number, block), x, filters,
                     first && number > 2 ? 2 : 1, first);
    }
    filters *= 2;
    ++number;
  }
  x = net.global_avg_pool("avg_pool", x);
  net.dense("predictions", x, image.classes);
  return net.training_graph(name, image.batch);
}

Result<Graph> resnet50(const std::string& name, Arguments& arguments) {
  const ImageArguments image = image_arguments(arguments);
  if (arguments.error()) return *arguments.error();
  return resnet(name, image, kDepth50, 1);
}

Result<Graph> resnet_of_depth(const std::string& name, Arguments& arguments) {
  const ImageArguments image = image_arguments(arguments);
  const std::string_view depth = arguments.choice("depth", {"50", "101", "152"});
  const std::int64_t repeat = arguments.number("repeat", 1, 1000);
  if (arguments.error()) return *arguments.error();
  return resnet(name, image, depth == "50" ? kDepth50 : depth == "101" ? kDepth101 : kDepth152, repeat);
}

constexpr std::array kDeepParameters = {
    Parameter{"depth", "50", "layers with weights: 50, 101 or 152"},
    Parameter{"repeat", "1", "how many times the blocks of each stage are repeated, 1 to 1000"},
    kBatch,
    kSize,
    kClasses,
};

constexpr std::array kRecipes = {
    Recipe{{"resnet50", "ResNet v1 of 50 layers with weights", kClassifierParameters}, resnet50},
    Recipe{{"resnet", "ResNet v1 of 50, 101, 152 or far more layers", kDeepParameters}, resnet_of_depth},
};

}  // namespace

std::span<const Recipe> resnets() { return kRecipes; }

}  // namespace checkmate::zoo
