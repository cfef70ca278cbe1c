#include "zoo/vgg.h"

#include <fmt/format.h>

#include <algorithm>

#include "zoo/image_arguments.h"

namespace checkmate::zoo {
namespace {

Result<Graph> vgg(const std::string& name, Arguments& arguments, const VggBlocks& blocks) {
  const auto [batch, size, classes] = image_arguments(arguments);
  if (arguments.error()) return *arguments.error();

  LayerNetwork net({size, size, 3});
  LayerId x = net.flatten("flatten", add_vgg_blocks(net, blocks).back());
  x = net.dense("fc1", x, 4096);
  x = net.dense("fc2", x, 4096);
  net.dense("predictions", x, classes);
  return net.training_graph(name, batch);
}

constexpr std::array kRecipes = {
    Recipe{{"vgg16", "VGG of 16 layers with weights", kClassifierParameters},
           [](const std::string& name, Arguments& arguments) { return vgg(name, arguments, kVgg16); }},
    Recipe{{"vgg19", "VGG of 19 layers with weights", kClassifierParameters},
           [](const std::string& name, Arguments& arguments) { return vgg(name, arguments, kVgg19); }},
};

}  // namespace

std::vector<LayerId> add_vgg_blocks(LayerNetwork& net, const VggBlocks& blocks, std::size_t count) {
  std::vector<LayerId> pooled;
  LayerId x = LayerNetwork::image();
  std::int64_t filters = 64;
  for (std::size_t block = 1; block <= count; ++block) {
    for (int i = 1; i <= blocks.at(block - 1); ++i) {
      x = net.conv(fmt::format("block{}_conv{}", block, i), x, {.filters = filters});
    }
    x = net.max_pool(fmt::format("block{}_pool", block), x);
    pooled.push_back(x);
    filters = std::min<std::int64_t>(2 * filters, 512);
  }
  return pooled;
}

std::span<const Recipe> vggs() { return kRecipes; }

}  // namespace checkmate::zoo
