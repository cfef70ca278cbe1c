#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "zoo/recipe.h"

namespace checkmate::zoo {
namespace {

constexpr std::array kParameters = {Parameter{"n", "8", "layers, 1 to 1000000"}};

/// The dependencies of LayerNetwork::training_graph(), every op with the same cost and size.
Result<Graph> linear(const std::string& name, Arguments& arguments) {
  const std::int64_t layers = arguments.number("n", 1, 1'000'000);
  if (arguments.error()) return *arguments.error();

  GraphBuilder builder(name, "unit");
  const auto add = [&builder](std::string op, std::string kind, std::vector<TensorId> inputs, Phase phase) {
    return builder.add_op_with_output({.name = std::move(op),
                                       .kind = std::move(kind),
                                       .cost = Cost{1},
                                       .inputs = std::move(inputs),
                                       .outputs = {},
                                       .phase = phase},
                                      Bytes{1});
  };
  std::vector<TensorId> outputs;
  for (std::int64_t i = 1; i <= layers; ++i) {
    outputs.push_back(add(fmt::format("layer{}", i), "layer",
                          outputs.empty() ? std::vector<TensorId>{} : std::vector{outputs.back()},
                          Phase::kForward));
  }
  TensorId gradient = add("loss", "loss", {outputs.back()}, Phase::kLoss);
  TensorId consumer = gradient;
  while (!outputs.empty()) {
    gradient = add(fmt::format("layer{}_grad", outputs.size()), "layer_grad",
                   {outputs.back(), consumer, gradient}, Phase::kBackward);
    consumer = outputs.back();
    outputs.pop_back();
  }
  return std::move(builder).build();
}

constexpr std::array kRecipes = {Recipe{
    {"linear", "A chain of equal layers: every op costs 1 and makes 1 byte", kParameters},
    linear,
}};

}  // namespace

std::span<const Recipe> chains() { return kRecipes; }

}  // namespace checkmate::zoo
