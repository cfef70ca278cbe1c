#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

/// Models of torch::nn, from some kilobytes to as large as asked for. Not in our namespace: within it, torch
/// is ours, and TORCH_MODULE means the other.
namespace torch_models {

namespace nn = ::torch::nn;

struct MlpImpl : nn::Module {
  MlpImpl(std::int64_t width, int depth) {
    layers = register_module("layers", nn::Sequential());
    for (int i = 0; i < depth; ++i) {
      layers->push_back(nn::Linear(width, width));
      layers->push_back(nn::GELU());
    }
  }
  at::Tensor forward(const at::Tensor& x) { return layers->forward(x); }
  nn::Sequential layers;
};
TORCH_MODULE(Mlp);

/// Batch norm, dropout, and activations in place.
struct CnnImpl : nn::Module {
  CnnImpl(std::int64_t width, int depth) {
    body = register_module("body", nn::Sequential());
    std::int64_t channels = 3;
    for (int i = 0; i < depth; ++i) {
      body->push_back(nn::Conv2d(nn::Conv2dOptions(channels, width, 3).padding(1).bias(false)));
      body->push_back(nn::BatchNorm2d(width));
      body->push_back(nn::ReLU(nn::ReLUOptions().inplace(true)));
      if (i % 2 == 1) body->push_back(nn::MaxPool2d(2));
      channels = width;
    }
    drop = register_module("drop", nn::Dropout(0.2));
    head = register_module("head", nn::Linear(width, 10));
  }
  at::Tensor forward(const at::Tensor& x) { return head(drop(body->forward(x).mean({2, 3}))); }
  nn::Sequential body;
  nn::Dropout drop{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Cnn);

struct ResidualImpl : nn::Module {
  explicit ResidualImpl(std::int64_t width) {
    for (int i = 1; i <= 2; ++i) {
      const std::string number = std::to_string(i);
      convolutions.push_back(register_module(
          "conv" + number, nn::Conv2d(nn::Conv2dOptions(width, width, 3).padding(1).bias(false))));
      norms.push_back(register_module("norm" + number, nn::BatchNorm2d(width)));
    }
  }
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = ::torch::relu(norms[0](convolutions[0](x)));
    y = norms[1](convolutions[1](y));
    y += x;
    return ::torch::relu_(y);
  }
  std::vector<nn::Conv2d> convolutions;
  std::vector<nn::BatchNorm2d> norms;
};
TORCH_MODULE(Residual);

struct ResNetImpl : nn::Module {
  ResNetImpl(std::int64_t width, int depth) {
    stem = register_module("stem", nn::Conv2d(nn::Conv2dOptions(3, width, 3).padding(1)));
    blocks = register_module("blocks", nn::Sequential());
    for (int i = 0; i < depth; ++i) blocks->push_back(Residual(width));
    pool = register_module("pool", nn::AdaptiveAvgPool2d(1));
    head = register_module("head", nn::Linear(width, 10));
  }
  at::Tensor forward(const at::Tensor& x) { return head(pool(blocks->forward(stem(x))).flatten(1)); }
  nn::Conv2d stem{nullptr};
  nn::Sequential blocks;
  nn::AdaptiveAvgPool2d pool{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(ResNet);

/// Skips from the way down to the way up.
struct UNetImpl : nn::Module {
  UNetImpl(std::int64_t width, int depth) {
    std::int64_t channels = 3;
    for (int i = 0; i < depth; ++i) {
      const std::int64_t wider = width << i;
      down.push_back(register_module("down" + std::to_string(i), block(channels, wider)));
      channels = wider;
    }
    middle = register_module("middle", block(channels, 2 * channels));
    for (int i = depth - 1; i >= 0; --i) {
      const std::int64_t narrower = width << i;
      up.push_back(register_module(
          "up" + std::to_string(i),
          nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2 * narrower, narrower, 2).stride(2))));
      merge.push_back(register_module("merge" + std::to_string(i), block(2 * narrower, narrower)));
    }
    head = register_module("head", nn::Conv2d(nn::Conv2dOptions(width, 10, 1)));
  }
  at::Tensor forward(at::Tensor x) {
    std::vector<at::Tensor> skips;
    for (auto& each : down) {
      skips.push_back(each->forward(x));
      x = ::torch::max_pool2d(skips.back(), 2);
    }
    x = middle->forward(x);
    for (std::size_t i = 0; i < up.size(); ++i) {
      x = merge[i]->forward(::torch::cat({up[i](x), skips[skips.size() - 1 - i]}, 1));
    }
    return head(x).mean({2, 3});
  }
  static nn::Sequential block(std::int64_t from, std::int64_t to) {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1)), nn::GroupNorm(4, to),
                          nn::SiLU(), nn::Conv2d(nn::Conv2dOptions(to, to, 3).padding(1)), nn::ReLU());
  }
  std::vector<nn::Sequential> down, merge;
  std::vector<nn::ConvTranspose2d> up;
  nn::Sequential middle{nullptr};
  nn::Conv2d head{nullptr};
};
TORCH_MODULE(UNet);

struct EncoderImpl : nn::Module {
  EncoderImpl(std::int64_t words, std::int64_t width, int depth) {
    embed = register_module("embed", nn::Embedding(words, width));
    const auto layer = nn::TransformerEncoderLayerOptions(width, 4).dim_feedforward(4 * width).dropout(0.1);
    encoder = register_module("encoder", nn::TransformerEncoder(nn::TransformerEncoderOptions(layer, depth)));
    head = register_module("head", nn::Linear(width, words));
  }
  at::Tensor forward(const at::Tensor& x) { return head(encoder(embed(x))).flatten(0, 1); }
  nn::Embedding embed{nullptr};
  nn::TransformerEncoder encoder{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Encoder);

struct GptBlockImpl : nn::Module {
  explicit GptBlockImpl(std::int64_t width) {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
    attend = register_module("attend", nn::Linear(width, 3 * width));
    project = register_module("project", nn::Linear(width, width));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
    widen = register_module("widen", nn::Linear(width, 4 * width));
    narrow = register_module("narrow", nn::Linear(4 * width, width));
    drop = register_module("drop", nn::Dropout(0.1));
  }
  at::Tensor forward(const at::Tensor& x) {
    const std::int64_t heads = 4;
    const auto parts = attend(norm1(x)).chunk(3, -1);
    const auto head = [&](const at::Tensor& part) {
      return part.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
    };
    const at::Tensor attended = at::scaled_dot_product_attention(head(parts[0]), head(parts[1]),
                                                                 head(parts[2]), std::nullopt, 0.0, true);
    const at::Tensor y = x + drop(project(attended.transpose(1, 2).reshape(x.sizes())));
    return y + narrow(::torch::gelu(widen(norm2(y))));
  }
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear attend{nullptr}, project{nullptr}, widen{nullptr}, narrow{nullptr};
  nn::Dropout drop{nullptr};
};
TORCH_MODULE(GptBlock);

/// The embedding is the last layer as well.
struct GptImpl : nn::Module {
  GptImpl(std::int64_t words, std::int64_t length, std::int64_t width, int depth) {
    embed = register_module("embed", nn::Embedding(words, width));
    positions = register_parameter("positions", 0.02 * ::torch::randn({length, width}));
    blocks = register_module("blocks", nn::Sequential());
    for (int i = 0; i < depth; ++i) blocks->push_back(GptBlock(width));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = norm(blocks->forward(embed(x) + positions.slice(0, 0, x.size(1))));
    return ::torch::linear(y, embed->weight).flatten(0, 1);
  }
  nn::Embedding embed{nullptr};
  at::Tensor positions;
  nn::Sequential blocks;
  nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Gpt);

struct ClassLoss {
  template <class Module>
  at::Tensor operator()(Module& model, const at::Tensor& x, const at::Tensor& y) const {
    return nn::functional::cross_entropy(model->forward(x), y.flatten());
  }
};

}  // namespace torch_models
