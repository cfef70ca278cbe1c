#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "zoo/image_arguments.h"
#include "zoo/layers.h"

namespace checkmate::zoo {
namespace {

constexpr Padding kValid = Padding::kValid;

/// One module of the network: its branches all start from `input` and end in a concatenation.
struct Module {
  LayerNetwork& net;
  std::string name;
  LayerId input;

  /// Convolutions one after another, each with batch norm and relu.
  LayerId convs(const std::string& branch, LayerId x, std::initializer_list<Conv> convs) const {
    int number = 0;
    for (Conv conv : convs) {
      conv.bias = false;
      const std::string prefix = fmt::format("{}_{}_{}", name, branch, ++number);
      x = net.conv(prefix + "_conv", x, conv);
      x = net.batch_norm(prefix + "_bn", x, /*scale=*/false);
      x = net.activation(prefix + "_relu", x, "relu");
    }
    return x;
  }
  LayerId convs(const std::string& branch, std::initializer_list<Conv> list) const {
    return convs(branch, input, list);
  }

  LayerId pooled(std::int64_t filters) const {
    const Pool everywhere = {.window = 3, .stride = 1, .padding = Padding::kSame};
    return convs("pool", net.avg_pool(name + "_pool", input, everywhere), {{filters, 1}});
  }
  LayerId halved() const { return net.max_pool(name + "_pool", input, {.window = 3}); }
  LayerId join(std::vector<LayerId> branches) const { return net.concat(name, std::move(branches)); }

  /// Convolutions whose last has a wide and a tall half, side by side.
  LayerId forked(const std::string& branch, std::initializer_list<Conv> trunk) const {
    const LayerId x = convs(branch, trunk);
    const LayerId wide = convs(branch + "_wide", x, {{384, {1, 3}}});
    const LayerId tall = convs(branch + "_tall", x, {{384, {3, 1}}});
    return net.concat(name + "_" + branch, {wide, tall});
  }
};

// The order of braced lists is the order of evaluation, so the branches run as they are written.

LayerId stem(LayerNetwork& net) {
  const Module m = {net, "stem", LayerNetwork::image()};
  LayerId x = m.convs("a", {{32, 3, 2, kValid}, {32, 3, 1, kValid}, {64, 3}});
  x = net.max_pool("stem_pool1", x, {.window = 3});
  x = m.convs("b", x, {{80, 1, 1, kValid}, {192, 3, 1, kValid}});
  return net.max_pool("stem_pool2", x, {.window = 3});
}

LayerId module_35x35(const Module& m, std::int64_t pooled) {
  return m.join({m.convs("1x1", {{64, 1}}), m.convs("5x5", {{48, 1}, {64, 5}}),
                 m.convs("3x3dbl", {{64, 1}, {96, 3}, {96, 3}}), m.pooled(pooled)});
}

LayerId reduction_to_17x17(const Module& m) {
  return m.join({m.convs("3x3", {{384, 3, 2, kValid}}),
                 m.convs("3x3dbl", {{64, 1}, {96, 3}, {96, 3, 2, kValid}}), m.halved()});
}

LayerId module_17x17(const Module& m, std::int64_t c) {
  return m.join({m.convs("1x1", {{192, 1}}), m.convs("7x7", {{c, 1}, {c, {1, 7}}, {192, {7, 1}}}),
                 m.convs("7x7dbl", {{c, 1}, {c, {7, 1}}, {c, {1, 7}}, {c, {7, 1}}, {192, {1, 7}}}),
                 m.pooled(192)});
}

LayerId reduction_to_8x8(const Module& m) {
  return m.join({m.convs("3x3", {{192, 1}, {320, 3, 2, kValid}}),
                 m.convs("7x7x3", {{192, 1}, {192, {1, 7}}, {192, {7, 1}}, {192, 3, 2, kValid}}),
                 m.halved()});
}

LayerId module_8x8(const Module& m) {
  return m.join({m.convs("1x1", {{320, 1}}), m.forked("3x3", {{384, 1}}),
                 m.forked("3x3dbl", {{448, 1}, {384, 3}}), m.pooled(192)});
}

Result<Graph> inception3(const std::string& name, Arguments& arguments) {
  const auto [batch, size, classes] = image_arguments(arguments, 75);
  if (arguments.error()) return *arguments.error();

  LayerNetwork net({size, size, 3});
  int number = 0;
  LayerId x = stem(net);
  const auto next = [&] { return Module{net, fmt::format("mixed{}", number++), x}; };
  for (const std::int64_t pooled : {32, 64, 64}) x = module_35x35(next(), pooled);
  x = reduction_to_17x17(next());
  for (const std::int64_t channels : {128, 160, 160, 192}) x = module_17x17(next(), channels);
  x = reduction_to_8x8(next());
  for (int i = 0; i < 2; ++i) x = module_8x8(next());
  x = net.global_avg_pool("avg_pool", x);
  net.dense("predictions", x, classes);
  return net.training_graph(name, batch);
}

constexpr std::array kParameters = {
    kBatch, Parameter{"size", "299", "height and width of an image, 75 to 4096"}, kClasses};
constexpr std::array kRecipes = {
    Recipe{{"inception3", "Inception v3 without the auxiliary head", kParameters}, inception3}};

}  // namespace

std::span<const Recipe> inceptions() { return kRecipes; }

}  // namespace checkmate::zoo
