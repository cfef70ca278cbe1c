#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"

namespace checkmate::zoo {

/// The activations of one image. A vector of n features is 1 x 1 x n.
struct Shape {
  std::int64_t height, width, channels;
  constexpr std::int64_t elements() const { return height * width * channels; }
  constexpr bool operator==(const Shape&) const = default;
};

/// Height and width of a window or an image; a single number is a square.
struct Extent {
  std::int64_t height, width;
  constexpr Extent(std::int64_t side) : Extent(side, side) {}
  constexpr Extent(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
};

/// kSame: ceil(input / stride) outputs along each axis. kValid: only where the whole window lies inside.
enum class Padding : std::uint8_t { kSame, kValid };

struct Conv {
  std::int64_t filters;
  Extent kernel = 3;
  std::int64_t stride = 1;
  Padding padding = Padding::kSame;
  bool bias = true;
};

/// One filter per channel.
struct DepthwiseConv {
  Extent kernel = 3;
  std::int64_t stride = 1;
  Padding padding = Padding::kSame;
  bool bias = true;
};

/// Each input element spreads over a kernel; neighbours lie `stride` apart.
struct TransposedConv {
  std::int64_t filters;
  Extent kernel = 2;
  std::int64_t stride = 2;
  bool bias = true;
};

struct Pool {
  Extent window = 2;
  std::int64_t stride = 2;
  Padding padding = Padding::kValid;
};

using LayerId = Id<struct LayerKind>;

/// A convolutional network, layer by layer in the order of its forward ops, with the shapes,
/// multiply-accumulates and parameters of docs/zoo.md.
///
///     LayerNetwork net({28, 28, 1});
///     LayerId x = net.conv("conv", net.image(), {.filters = 8});
///     x = net.dense("scores", net.flatten("flatten", x), 10);
///     Result<Graph> graph = net.training_graph("tiny", 64);
///
/// Inputs that do not fit a layer are a std::logic_error. An activation that belongs to a convolution or a
/// dense layer adds nothing; one that is a layer of its own is activation().
class LayerNetwork {
 public:
  explicit LayerNetwork(const Shape& image);

  /// What the first layer reads. It is not an op and takes no memory in the training graph.
  static constexpr LayerId image() { return LayerId{0}; }

  LayerId conv(std::string name, LayerId input, const Conv& conv);
  LayerId depthwise_conv(std::string name, LayerId input, const DepthwiseConv& conv);
  LayerId transposed_conv(std::string name, LayerId input, const TransposedConv& conv);
  LayerId dense(std::string name, LayerId input, std::int64_t features);
  /// Four parameters per channel (scale, shift, running mean and variance), three without `scale`.
  LayerId batch_norm(std::string name, LayerId input, bool scale = true);
  /// `kind` is `relu`, `softmax`, ...
  LayerId activation(std::string name, LayerId input, std::string kind);
  LayerId max_pool(std::string name, LayerId input, const Pool& pool = {});
  LayerId avg_pool(std::string name, LayerId input, const Pool& pool = {});
  LayerId global_avg_pool(std::string name, LayerId input);
  /// `before` rows and columns at the top and left, `after` at the bottom and right.
  LayerId zero_pad(std::string name, LayerId input, std::int64_t before, std::int64_t after);
  /// Every element becomes a square of factor x factor.
  LayerId upsample(std::string name, LayerId input, std::int64_t factor = 2);
  LayerId crop(std::string name, LayerId input, const Extent& kept);
  /// Along the channels.
  LayerId concat(std::string name, std::vector<LayerId> inputs);
  LayerId add(std::string name, std::vector<LayerId> inputs);
  LayerId reshape(std::string name, LayerId input, const Shape& shape);
  LayerId flatten(std::string name, LayerId input);
  LayerId dropout(std::string name, LayerId input);

  Shape shape(LayerId layer) const { return layers_[layer.index()].shape; }
  /// Of all layers, those that training does not change (batch norm's running statistics) included.
  std::int64_t parameter_count() const;

  /// One op per layer, `loss`, which reads the last layer, and the layers' gradients in reverse order. An
  /// error where bytes or costs exceed what a graph can hold.
  Result<Graph> training_graph(const std::string& name, std::int64_t batch) const;

 private:
  struct Layer {
    std::string name;
    std::string kind;
    std::vector<LayerId> inputs;
    Shape shape;
    std::int64_t macs = 0;
    std::int64_t parameters = 0;
  };
  LayerId push(Layer layer);

  std::vector<Layer> layers_;  // the first stands for the image
};

}  // namespace checkmate::zoo
