#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "zoo/image_arguments.h"
#include "zoo/layers.h"
#include "zoo/vgg.h"

namespace checkmate::zoo {
namespace {

struct SceneArguments {
  std::int64_t batch, height, width, classes;
};

SceneArguments scene_arguments(Arguments& arguments) {
  return {batch_of(arguments), arguments.number("height", 32, kLargestSize),
          arguments.number("width", 32, kLargestSize), classes_of(arguments)};
}

/// Skips join what was halved and doubled with what was not, so four halvings must come out even.
std::optional<Error> refuse_uneven(std::string_view parameter, std::int64_t value) {
  if (value % 16 == 0) return std::nullopt;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} must be a multiple of 16, got {}", parameter, value)};
}

/// A 3x3 convolution on explicit padding.
LayerId padded_conv_bn(LayerNetwork& net, const std::string& prefix, LayerId x, std::int64_t filters) {
  x = net.zero_pad(prefix + "_pad", x, 1, 1);
  x = net.conv(prefix + "_conv", x, {.filters = filters, .padding = Padding::kValid});
  return net.batch_norm(prefix + "_bn", x);
}

/// The classes of each pixel as one long row.
void classify_pixels(LayerNetwork& net, LayerId scores) {
  const auto [height, width, classes] = net.shape(scores);
  net.activation("probabilities", net.reshape("pixels", scores, {1, height * width, classes}), "softmax");
}

/// Up from an encoder's last level to half of the image's size. `skips`, deepest first, are joined on the
/// way, or none.
void add_decoder(LayerNetwork& net, LayerId x, const std::vector<LayerId>& skips, std::int64_t classes) {
  constexpr std::array<std::int64_t, 4> kFilters = {512, 256, 128, 64};
  for (std::size_t level = 0; level < kFilters.size(); ++level) {
    const std::string prefix = fmt::format("decoder{}", level + 1);
    if (level > 0) x = net.upsample(prefix + "_up", x);
    if (level > 0 && !skips.empty()) x = net.concat(prefix + "_concat", {x, skips.at(level - 1)});
    x = padded_conv_bn(net, prefix, x, kFilters.at(level));
  }
  classify_pixels(net, net.conv("scores", x, {.filters = classes}));
}

Result<Graph> unet(const std::string& name, Arguments& arguments) {
  const auto [batch, height, width, classes] = scene_arguments(arguments);
  if (arguments.error()) return *arguments.error();
  if (const auto error = refuse_uneven("height", height)) return *error;
  if (const auto error = refuse_uneven("width", width)) return *error;

  LayerNetwork net({height, width, 3});
  const std::vector<LayerId> levels = add_vgg_blocks(net, kVgg16, 4);
  add_decoder(net, levels[3], {levels[2], levels[1], levels[0]}, classes);
  return net.training_graph(name, batch);
}

Result<Graph> segnet(const std::string& name, Arguments& arguments) {
  const auto [batch, height, width, classes] = scene_arguments(arguments);
  if (arguments.error()) return *arguments.error();

  LayerNetwork net({height, width, 3});
  LayerId x = LayerNetwork::image();
  int level = 0;
  // The plain encoder has a fifth level, which nothing reads.
  for (const std::int64_t filters : {64, 128, 256, 256}) {
    const std::string prefix = fmt::format("encoder{}", ++level);
    x = padded_conv_bn(net, prefix, x, filters);
    x = net.activation(prefix + "_relu", x, "relu");
    x = net.max_pool(prefix + "_pool", x);
  }
  add_decoder(net, x, {}, classes);
  return net.training_graph(name, batch);
}

/// Doubles the scores and adds those of a finer level. Keras runs layers by their distance to the output and
/// those at one distance by their place among the sum's inputs, so that place is part of the order of ops.
LayerId fuse(LayerNetwork& net, const std::string& prefix, LayerId coarse, LayerId finer, bool finer_first) {
  const std::int64_t classes = net.shape(coarse).channels;
  const Shape target = net.shape(finer);
  LayerId x = net.transposed_conv(prefix + "_up", coarse, {.filters = classes, .kernel = 4, .bias = false});
  x = net.crop(prefix + "_crop_width", x, {net.shape(x).height, target.width});
  const auto crop = [&] { return net.crop(prefix + "_crop_height", x, {target.height, target.width}); };
  const auto score = [&] { return net.conv(prefix + "_scores", finer, {.filters = classes, .kernel = 1}); };
  // The order of braced lists is the order of evaluation.
  return net.add(prefix + "_add", finer_first ? std::vector{score(), crop()} : std::vector{crop(), score()});
}

Result<Graph> fcn8(const std::string& name, Arguments& arguments) {
  const auto [batch, height, width, classes] = scene_arguments(arguments);
  if (arguments.error()) return *arguments.error();

  LayerNetwork net({height, width, 3});
  const std::vector<LayerId> levels = add_vgg_blocks(net, kVgg16);
  LayerId x = net.conv("fc6", levels[4], {.filters = 4096, .kernel = 7});
  x = net.dropout("fc6_dropout", x);
  x = net.conv("fc7", x, {.filters = 4096, .kernel = 1});
  x = net.dropout("fc7_dropout", x);
  x = net.conv("scores", x, {.filters = classes, .kernel = 1});
  x = fuse(net, "level4", x, levels[3], false);
  x = fuse(net, "level3", x, levels[2], true);
  x = net.transposed_conv("up", x, {.filters = classes, .kernel = 16, .stride = 8, .bias = false});
  classify_pixels(net, x);
  return net.training_graph(name, batch);
}

/// Two 3x3 convolutions a level, from 64 filters at the top to 1024 at the bottom.
Result<Graph> unet_plain(const std::string& name, Arguments& arguments) {
  const auto [batch, size, classes] = image_arguments(arguments);
  if (arguments.error()) return *arguments.error();
  if (const auto error = refuse_uneven("size", size)) return *error;

  LayerNetwork net({size, size, 1});
  const auto two_convs = [&net](const std::string& prefix, LayerId x, std::int64_t filters) {
    x = net.conv(prefix + "_conv1", x, {.filters = filters});
    return net.conv(prefix + "_conv2", x, {.filters = filters});
  };
  LayerId x = LayerNetwork::image();
  std::vector<LayerId> skips;
  std::int64_t filters = 64;
  for (int level = 1; level <= 4; ++level, filters *= 2) {
    x = two_convs(fmt::format("down{}", level), x, filters);
    skips.push_back(x);
    x = net.max_pool(fmt::format("down{}_pool", level), x);
  }
  x = two_convs("bottom", x, filters);
  for (int level = 4; level >= 1; --level) {
    filters /= 2;
    const std::string prefix = fmt::format("up{}", level);
    x = net.transposed_conv(prefix + "_up", x, {.filters = filters});
    x = net.concat(prefix + "_concat", {skips.back(), x});
    skips.pop_back();
    x = two_convs(prefix, x, filters);
  }
  net.conv("scores", x, {.filters = classes, .kernel = 1});
  return net.training_graph(name, batch);
}

constexpr Parameter kSceneClasses = {"classes", "19", kClasses.description};
constexpr std::array kSceneParameters = {kBatch, Parameter{"height", "416", "height of an image, 32 to 4096"},
                                         Parameter{"width", "608", "width of an image, 32 to 4096"},
                                         kSceneClasses};
constexpr std::array kEvenSceneParameters = {
    kBatch, Parameter{"height", "416", "height of an image, 32 to 4096, a multiple of 16"},
    Parameter{"width", "608", "width of an image, 32 to 4096, a multiple of 16"}, kSceneClasses};
constexpr std::array kPlainParameters = {
    kBatch, Parameter{"size", "512", "height and width of an image, 32 to 4096, a multiple of 16"},
    Parameter{"classes", "2", kClasses.description}};

constexpr std::array kRecipes = {
    Recipe{{"unet", "U-Net on a VGG16 encoder", kEvenSceneParameters}, unet},
    Recipe{{"fcn8", "FCN-8 on a VGG16 encoder", kSceneParameters}, fcn8},
    Recipe{{"segnet", "SegNet on a plain encoder", kSceneParameters}, segnet},
    Recipe{{"unet_plain", "U-Net as of 2015, on padded images of one channel", kPlainParameters}, unet_plain},
};

}  // namespace

std::span<const Recipe> segmenters() { return kRecipes; }

}  // namespace checkmate::zoo
