#include <checkmate/torch.h>

#include <iostream>
#include <string>

// Two models of LibTorch that train within half of the memory that they take without recomputation: a
// convolutional network on pictures of digits, and a small GPT on sequences. The data are made here. No
// Python is needed.
//
//     train

namespace {

namespace nn = torch::nn;

struct CnnImpl : nn::Module {
  CnnImpl() {
    for (std::int64_t channels = 1, layer = 0; layer < 6; ++layer, channels = 16) {
      body->push_back(nn::Conv2d(nn::Conv2dOptions(channels, 16, 3).padding(1).bias(false)));
      body->push_back(nn::BatchNorm2d(16));
      body->push_back(nn::ReLU());
    }
    body->push_back(nn::MaxPool2d(4));
    register_module("body", body);
    register_module("drop", drop);
    register_module("head", head);
  }
  at::Tensor forward(const at::Tensor& pictures) { return head(drop(body->forward(pictures).flatten(1))); }

  nn::Sequential body;
  nn::Dropout drop{0.1};
  nn::Linear head{16 * 7 * 7, 10};
};
TORCH_MODULE(Cnn);

struct BlockImpl : nn::Module {
  explicit BlockImpl(std::int64_t width)
      : norm1(nn::LayerNormOptions({width})),
        norm2(nn::LayerNormOptions({width})),
        attend(width, 3 * width),
        project(width, width),
        widen(width, 4 * width),
        narrow(4 * width, width) {
    register_module("norm1", norm1);
    register_module("norm2", norm2);
    register_module("attend", attend);
    register_module("project", project);
    register_module("widen", widen);
    register_module("narrow", narrow);
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto heads = [&](const at::Tensor& part) {
      return part.view({x.size(0), x.size(1), 4, -1}).transpose(1, 2);
    };
    const auto parts = attend(norm1(x)).chunk(3, -1);
    const at::Tensor attended = at::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                                 heads(parts[2]), std::nullopt, 0.0, true);
    const at::Tensor y = x + project(attended.transpose(1, 2).reshape(x.sizes()));
    return y + narrow(torch::gelu(widen(norm2(y))));
  }

  nn::LayerNorm norm1, norm2;
  nn::Linear attend, project, widen, narrow;
};
TORCH_MODULE(Block);

/// The embedding is the last layer as well.
struct GptImpl : nn::Module {
  GptImpl(std::int64_t words, std::int64_t length, std::int64_t width, int depth) : embed(words, width) {
    register_module("embed", embed);
    positions = register_parameter("positions", 0.02 * torch::randn({length, width}));
    for (int i = 0; i < depth; ++i) blocks->push_back(Block(width));
    register_module("blocks", blocks);
  }
  at::Tensor forward(const at::Tensor& words) {
    return torch::linear(blocks->forward(embed(words) + positions), embed->weight);
  }

  nn::Embedding embed;
  at::Tensor positions;
  nn::Sequential blocks;
};
TORCH_MODULE(Gpt);

/// Ten pictures, with noise.
std::pair<at::Tensor, at::Tensor> digits(std::int64_t count) {
  static const at::Tensor pictures = torch::randn({10, 1, 28, 28});
  const at::Tensor classes = torch::randint(0, 10, {count});
  return {pictures.index_select(0, classes) + 0.5 * torch::randn({count, 1, 28, 28}), classes};
}

/// Each word follows from the two before it.
std::pair<at::Tensor, at::Tensor> sequences(std::int64_t count, std::int64_t length, std::int64_t words) {
  const at::Tensor begin = torch::randint(0, words, {count, 1});
  const at::Tensor by = torch::randint(1, 4, {count, 1});
  const at::Tensor all = (begin + by * torch::arange(length + 1)).remainder(words);
  return {all.slice(1, 0, length).contiguous(), all.slice(1, 1).contiguous()};
}

/// Trains and tells what it took. False where something went wrong.
template <class Model, class Data>
bool train(const std::string& name, Model model, const Data& data, int steps) {
  const auto loss_fn = [](Model& network, const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor scores = network->forward(x);
    return nn::functional::cross_entropy(scores.flatten(0, -2), y.flatten());
  };
  auto [x, y] = data();
  auto step = checkmate::torch::compile(model, loss_fn, {x, y}, {.budget = "50%"});
  if (!step) {
    std::cerr << name << ": " << step.error().message << "\n";
    return false;
  }
  std::cout << name << ": " << step->plan() << "\n";

  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(3e-3));
  double first = 0;
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    std::tie(x, y) = data();
    optimizer.zero_grad();
    const at::Tensor loss = (*step)(x, y);
    optimizer.step();
    last = loss.template item<double>();
    if (i == 0) first = last;
  }
  std::cout << name << ": loss " << first << " -> " << last << " after " << steps << " steps\n";

  const auto seen = step->verify({x, y}, 1);
  if (!seen) {
    std::cerr << name << ": " << seen.error().message << "\n";
    return false;
  }
  std::cout << to_string(*seen) << "\n";
  return seen->holds() && last < first / 2;
}

}  // namespace

int main() {
  torch::manual_seed(0);
  const bool cnn = train(
      "cnn", Cnn(), [] { return digits(64); }, 30);
  const bool gpt = train(
      "gpt", Gpt(32, 32, 64, 4), [] { return sequences(32, 32, 32); }, 80);
  return cnn && gpt ? 0 : 1;
}
