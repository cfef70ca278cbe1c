#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/plan.h"
#include "checkmate/simulate.h"
#include "checkmate/zoo.h"

namespace checkmate {
namespace {

Graph built(std::string_view spec) { return zoo::build(spec).value(); }

OpId op_named(const Graph& graph, std::string_view name) {
  for (const OpId op : graph.ops()) {
    if (graph.name(op) == name) return op;
  }
  throw std::logic_error("no op " + std::string(name));
}

std::vector<std::string> inputs_of(const Graph& graph, std::string_view op) {
  std::vector<std::string> names;
  for (const TensorId input : graph.inputs(op_named(graph, op))) names.emplace_back(graph.name(input));
  return names;
}

bool is_gradient(const Graph& graph, TensorId tensor) {
  return graph.output(tensor) && graph.name(tensor).ends_with(".grad");
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t elements = 0;
  for (const TensorId tensor : graph.tensors()) {
    if (is_gradient(graph, tensor)) elements += graph.bytes(tensor).count() / 4;
  }
  return elements;
}

/// What the forward phase leaves for the backward phase.
std::int64_t saved_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const TensorId tensor : graph.tensors()) {
    const std::optional<OpId> producer = graph.producer(tensor);
    if (!producer || graph.phase(*producer) != Phase::kForward) continue;
    const auto users = graph.users(tensor);
    const auto in_backward = [&](OpId user) { return graph.phase(user) == Phase::kBackward; };
    if (std::any_of(users.begin(), users.end(), in_backward)) bytes += graph.bytes(tensor).count();
  }
  return bytes;
}

std::int64_t saved_by_one_layer(const std::string& spec) {
  return saved_bytes(built(spec + "&layers=3")) - saved_bytes(built(spec + "&layers=2"));
}

std::int64_t cost_of_kinds(const Graph& graph, const std::set<std::string_view>& kinds, Phase phase) {
  std::int64_t cost = 0;
  for (const OpId op : graph.ops()) {
    if (graph.phase(op) == phase && kinds.contains(graph.kind(op))) cost += graph.cost(op).count();
  }
  return cost;
}

struct ParameterCount {
  std::string_view spec;
  std::int64_t expected;
};
std::ostream& operator<<(std::ostream& out, const ParameterCount& count) { return out << count.spec; }

class ZooTransformerParameters : public testing::TestWithParam<ParameterCount> {};

TEST_P(ZooTransformerParameters, AreAsManyAsPublished) {
  EXPECT_EQ(parameter_count(built(GetParam().spec)), GetParam().expected);
}

// A block of width w has qkv 3w^2 + 3w, projection w^2 + w, feed-forward 4w^2 + 4w and 4w^2 + w and two norms
// of 2w: 12 w^2 + 13 w, 7,087,872 for w = 768.
INSTANTIATE_TEST_SUITE_P(
    Published, ZooTransformerParameters,
    testing::Values(
        // (50257 words, tied with the output + 1024 positions) x 768 + 12 x 7087872 + 2 x 768
        ParameterCount{"gpt2", 124439808}, ParameterCount{"gpt2?size=medium", 354823168},
        ParameterCount{"gpt2?size=large", 774030080}, ParameterCount{"gpt2?size=xl", 1557611200},
        // The encoder with pooler, 109482240 = (30522 + 512 + 2) x 768 + 1536 + 12 x 7087872 + 590592, and
        // both heads: dense 590592, norm 1536, decoder's bias 30522 (its weight is tied), next sentence 2 x
        // 768 + 2
        ParameterCount{"bert", 109482240 + 590592 + 1536 + 30522 + 1538},
        // The encoder 335141888; heads: 1024^2 + 1024, 2048, 30522, 2 x 1024 + 2
        ParameterCount{"bert?size=large", 335141888 + 1049600 + 2048 + 30522 + 2050},
        // Patches 3 x 16^2 x 768 + 768, class token 768, 197 positions x 768, 12 x 7087872, norm 1536, head
        // 769000
        ParameterCount{"vit", 86567656}, ParameterCount{"vit?size=large", 304326632},
        ParameterCount{"vit?size=huge", 632045800},
        // 2 x 32000 x 4096 + 32 x (4 x 4096^2 + 3 x 4096 x 11008 + 2 x 4096) + 4096
        ParameterCount{"llama7b", 6738415616}));

class ZooTransformers : public testing::TestWithParam<std::string_view> {};

TEST_P(ZooTransformers, RunWithEverythingKept) {
  const Graph graph = built(GetParam());
  const Result<Simulation> run = simulate(graph, keep_all_plan(graph));
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->cost, graph.keep_all_cost());
  EXPECT_GT(run->peak, graph.fixed_bytes());
}

TEST_P(ZooTransformers, GiveEachParameterOneGradientOfItsSize) {
  const Graph graph = built(GetParam());
  std::map<std::string_view, std::vector<TensorId>> by_name;
  for (const TensorId tensor : graph.tensors()) by_name[graph.name(tensor)].push_back(tensor);

  const std::set<std::string_view> constants = {
      "tokens", "targets",     "positions",    "token_types",    "next_sentence",
      "image",  "causal_mask", "padding_bias", "rotary.cosines", "rotary.sines"};
  std::size_t parameters = 0;
  for (const TensorId tensor : graph.tensors()) {
    if (!graph.resident(tensor)) continue;
    const std::string gradient = std::string(graph.name(tensor)) + ".grad";
    if (constants.contains(graph.name(tensor))) {
      EXPECT_FALSE(by_name.contains(gradient)) << gradient;
      continue;
    }
    ++parameters;
    ASSERT_EQ(by_name[gradient].size(), 1) << gradient;
    EXPECT_EQ(graph.bytes(by_name[gradient].front()), graph.bytes(tensor)) << gradient;
    EXPECT_TRUE(graph.output(by_name[gradient].front())) << gradient;
  }
  std::size_t outputs = 0;
  for (const TensorId tensor : graph.tensors()) outputs += graph.output(tensor) ? 1 : 0;
  EXPECT_EQ(outputs, parameters + 1);  // and the loss
}

TEST_P(ZooTransformers, HaveUniqueNamesAndNoFreeOp) {
  const Graph graph = built(GetParam());
  std::set<std::string_view> ops;
  std::set<std::string_view> tensors;
  for (const OpId op : graph.ops()) {
    EXPECT_TRUE(ops.insert(graph.name(op)).second) << graph.name(op);
    EXPECT_GT(graph.cost(op), Cost{0}) << graph.name(op);
  }
  for (const TensorId tensor : graph.tensors()) {
    EXPECT_TRUE(tensors.insert(graph.name(tensor)).second) << graph.name(tensor);
  }
}

TEST_P(ZooTransformers, RunPhaseAfterPhase) {
  const Graph graph = built(GetParam());
  Phase phase = Phase::kForward;
  for (const OpId op : graph.ops()) {
    EXPECT_GE(graph.phase(op), phase) << graph.name(op);
    phase = graph.phase(op);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Small, ZooTransformers,
    testing::Values(
        "gpt2?layers=2&width=8&heads=2&sequence=6&batch=3&vocabulary=11",
        "gpt2?layers=2&width=8&heads=2&sequence=6&batch=3&vocabulary=11&attention=flash",
        "gpt2?layers=2&width=8&heads=2&sequence=6&batch=3&vocabulary=11&dropout=off&update=sgd",
        "bert?layers=2&width=8&heads=2&sequence=6&batch=3&vocabulary=11",
        "bert?layers=2&width=8&heads=2&sequence=6&batch=3&attention=flash&dropout=off&dtype=bf16",
        "vit?layers=2&width=8&heads=2&image=8&patch=4&batch=3&classes=5",
        "vit?layers=2&width=8&heads=2&image=8&patch=4&batch=3&classes=5&attention=flash&update=sgd",
        "llama7b?layers=2&width=8&heads=2&hidden=24&sequence=6&batch=3&vocabulary=11",
        "llama7b?layers=2&width=8&heads=2&hidden=24&sequence=6&attention=materialised"));

// In 2 samples of 32 tokens, 24 features and 3 heads:
std::string shaped(const std::string& spec) { return spec + "width=24&heads=3&sequence=32&batch=2"; }
constexpr std::int64_t kTokens = 2L * 32;
constexpr std::int64_t kElements = kTokens * 24;
constexpr std::int64_t kScores = kTokens * 3 * 32;
constexpr std::int64_t kFloat = 4;

TEST(ZooTransformer, KeepsPerGpt2LayerWhatAutogradKeeps) {
  // Of elements: inputs of norm 1 and of qkv, q, k, v, inputs of the projection, of norm 2 and of fc, four
  // times as
  //   much for gelu and for the second projection: 6 + 2 + 2 x 4 = 16. Two masks of a byte.
  // Of scores: softmax, its dropout, a mask of a byte. Of tokens: mean and rstd of two norms.
  EXPECT_EQ(saved_by_one_layer(shaped("gpt2?")),
            (16 * kFloat + 2) * kElements + (2 * kFloat + 1) * kScores + 4 * kFloat * kTokens);
  // In elements of 2 bytes that is the s b h (34 + 5 a s / h) of Korthikanti et al. (2022), and the norms'
  // numbers, which stay in 4 bytes and which they leave out.
  EXPECT_EQ(saved_by_one_layer(shaped("gpt2?dtype=bf16&")),
            34 * kElements + 5 * kScores + 4 * kFloat * kTokens);
  // Without dropout its masks and its output go.
  EXPECT_EQ(saved_by_one_layer(shaped("gpt2?dropout=off&")),
            16 * kFloat * kElements + kFloat * kScores + 4 * kFloat * kTokens);
}

TEST(ZooTransformer, KeepsPerFlashLayerOneNumberARowOfScores) {
  // q, k and v stay in one piece of three. A logarithm for each token and head; with dropout a seed of 16
  // bytes.
  const std::int64_t without_dropout = 16 * kFloat * kElements + 3 * kFloat * kTokens + 4 * kFloat * kTokens;
  EXPECT_EQ(saved_by_one_layer(shaped("gpt2?attention=flash&dropout=off&")), without_dropout);
  EXPECT_EQ(saved_by_one_layer(shaped("gpt2?attention=flash&")), without_dropout + 2 * kElements + 16);
}

TEST(ZooTransformer, KeepsPerLayerOfTheOthersWhatAutogradKeeps) {
  // As GPT-2: the norms stand elsewhere, but each keeps its input and makes one saved tensor.
  EXPECT_EQ(saved_by_one_layer(shaped("bert?")), saved_by_one_layer(shaped("gpt2?")));
  // 4 x 4 patches and the class token: 17 tokens in each of 2 samples, 3 heads. No dropout.
  const std::int64_t tokens = 2L * 17;
  EXPECT_EQ(saved_by_one_layer("vit?width=24&heads=3&image=16&patch=4&batch=2"),
            16 * kFloat * tokens * 24 + kFloat * tokens * 3 * 17 + 4 * kFloat * tokens);
  // Of elements: inputs of norm 1 and of q, k and v (the same), q and k turned, v, attention's output, inputs
  // of norm 2
  //   and of gate and up (the same): 8. Of 40 hidden features: gate, silu, up, their product. One rstd a
  //   norm.
  const std::string llama = "llama7b?hidden=40&heads=4&width=24&sequence=32&batch=2";
  const std::int64_t both = 8 * kFloat * kElements + 4 * kFloat * kTokens * 40 + 2 * kFloat * kTokens;
  EXPECT_EQ(saved_by_one_layer(llama + "&attention=flash"), both + 4 * kFloat * kTokens);
  // Copies of q, k, v and the context take the places of what they copy; softmax has 4 heads x 32 x 32 a
  // sample.
  EXPECT_EQ(saved_by_one_layer(llama + "&attention=materialised"), both + kFloat * kTokens * 4 * 32);
}

TEST(ZooTransformer, NeedsLessMemoryWithFlashAttention) {
  for (const std::string network : {"gpt2?", "bert?", "vit?", "llama7b?layers=2&"}) {
    const Graph materialised = built(network + "batch=8&attention=materialised");
    const Graph flash = built(network + "batch=8&attention=flash");
    EXPECT_LT(keep_all_peak(flash), keep_all_peak(materialised)) << network;
    EXPECT_LT(flash.op_count(), materialised.op_count()) << network;
  }
}

TEST(ZooTransformer, RunsOneOpAKernel) {
  // GPT-2, a layer: 21 forward (two norms, four linear, four copies, two products, scale, mask, softmax,
  // three dropouts,
  //   gelu, two sums), 32 backward (four linear x 3, two products x 2, two sums of gradients, the split's cat
  //   and one each for norms, copies, scale, mask, softmax, dropouts, gelu: 13). Ends: 4 + 4 forward and
  //   loss, 11 backward.
  EXPECT_EQ(built("gpt2").op_count(), 12 * (21 + 32) + 19);
  EXPECT_EQ(built("gpt2?size=xl").op_count(), 48 * 53 + 19);
  // A norm for the gradients and an update a parameter: 12 a layer, two tables, the last norm.
  EXPECT_EQ(built("gpt2?update=sgd").op_count(), 12 * (53 + 12) + 19 + 1 + 4);
  EXPECT_GE(built("gpt2?size=xl&layers=160").op_count(), 8'000);
  EXPECT_GE(built("gpt2?layers=943").op_count(), 49'998);
}

TEST(ZooTransformer, CountsMultiplyAccumulates) {
  const std::set<std::string_view> products = {"mm", "addmm", "bmm"};
  const Graph graph = built("gpt2?layers=5&batch=2&sequence=64");
  // A layer: tokens x 12 width^2 and two products of scores, tokens x sequence x width each; then the logits.
  const std::int64_t tokens = 2L * 64;
  const std::int64_t forward = 5 * (tokens * 12 * 768 * 768 + 2 * tokens * 64 * 768) + tokens * 50257 * 768;
  EXPECT_EQ(cost_of_kinds(graph, products, Phase::kForward), forward);
  EXPECT_EQ(cost_of_kinds(graph, products, Phase::kBackward), 2 * forward);
}

TEST(ZooTransformer, ReadsSavedTensorsInItsGradients) {
  using Names = std::vector<std::string>;
  const Graph graph = built("gpt2?layers=1");
  EXPECT_EQ(inputs_of(graph, "h.0.mlp.gelu.backward"), (Names{"h.0.mlp.proj.grad_input", "h.0.mlp.fc"}));
  EXPECT_EQ(inputs_of(graph, "h.0.attn.softmax.backward"),
            (Names{"h.0.attn.softmax_dropout.backward", "h.0.attn.softmax"}));
  EXPECT_EQ(inputs_of(graph, "h.0.attn.dropout.backward"),
            (Names{"h.0.attn.residual.grad.sum2", "h.0.attn.dropout.mask"}));
  EXPECT_EQ(inputs_of(graph, "h.0.mlp.fc.grad_input"), (Names{"h.0.mlp.gelu.backward", "h.0.mlp.fc.weight"}));
  EXPECT_EQ(inputs_of(graph, "h.0.mlp.fc.grad_weight"), (Names{"h.0.mlp.gelu.backward", "h.0.ln_2"}));
  EXPECT_EQ(inputs_of(graph, "h.0.mlp.fc.grad_bias"), (Names{"h.0.mlp.gelu.backward"}));
  EXPECT_EQ(inputs_of(graph, "h.0.ln_2.backward"),
            (Names{"h.0.mlp.fc.grad_input", "h.0.attn.residual", "h.0.ln_2.mean", "h.0.ln_2.rstd",
                   "h.0.ln_2.weight"}));
  EXPECT_EQ(
      inputs_of(graph, "h.0.attn.split.backward"),
      (Names{"h.0.attn.copy_query.backward", "h.0.attn.copy_key.backward", "h.0.attn.copy_value.backward"}));
  // The table of words is also the last layer's weight: its gradient has two parts.
  EXPECT_EQ(inputs_of(graph, "wte.weight.grad.sum2"), (Names{"lm_head.grad_weight", "wte.backward"}));

  const Graph flash = built("gpt2?layers=1&attention=flash");
  EXPECT_EQ(inputs_of(flash, "h.0.attn.flash.backward"),
            (Names{"h.0.attn.proj.grad_input", "h.0.attn.qkv", "h.0.attn.flash", "h.0.attn.flash.logsumexp",
                   "h.0.attn.flash.seed"}));
}

TEST(ZooTransformer, RunsRandomOpsOnce) {
  const auto run_once = [](const Graph& graph) {
    std::map<std::string_view, int> kinds;
    for (const OpId op : graph.ops()) {
      if (!graph.recomputable(op)) ++kinds[graph.kind(op)];
    }
    return kinds;
  };
  using Kinds = std::map<std::string_view, int>;
  EXPECT_EQ(run_once(built("gpt2")), (Kinds{{"dropout", 12 * 3 + 1}}));
  EXPECT_EQ(run_once(built("bert?attention=flash")),
            (Kinds{{"dropout", 12 * 2 + 1}, {"flash_attention", 12}}));
  EXPECT_EQ(run_once(built("gpt2?dropout=off&attention=flash")), Kinds{});
  EXPECT_EQ(run_once(built("llama7b?update=sgd")), (Kinds{{"sgd", 32 * 9 + 3}}));
}

TEST(ZooTransformer, UpdatesAfterTheLastGradient) {
  const Graph graph = built("vit?layers=1&update=sgd");
  std::size_t gradients = 0;
  for (const TensorId tensor : graph.tensors()) gradients += is_gradient(graph, tensor) ? 1 : 0;
  EXPECT_EQ(inputs_of(graph, "gradient_norm").size(), gradients);
  EXPECT_EQ(inputs_of(graph, "head.bias.update"),
            (std::vector<std::string>{"head.bias", "head.bias.grad", "gradient_norm"}));
}

TEST(ZooTransformer, RefusesShapesThatDoNotFit) {
  const auto message = [](std::string_view spec) {
    const Result<Graph> graph = zoo::build(spec);
    return graph ? "" : graph.error().message;
  };
  EXPECT_EQ(message("gpt2?heads=7"), "zoo:gpt2?heads=7: heads must divide width, got 7 heads and width 768");
  EXPECT_EQ(message("gpt2?size=huge"),
            "zoo:gpt2?size=huge: size must be one of small, medium, large, xl, got 'huge'");
  EXPECT_EQ(message("llama7b?width=96"),
            "zoo:llama7b?width=96: rotary positions need heads of an even width, got 32 heads and width 96");
  EXPECT_EQ(message("vit?patch=300"),
            "zoo:vit?patch=300: an image must have from 1 to 65535 patches, got 0 (image 224, patch 300)");
  EXPECT_NE(message("vit?image=4096&patch=1"), "");
  EXPECT_NE(message("bert?batch=0"), "");
}

TEST(ZooTransformer, RefusesWhatPassesTheLargestTotal) {
  const std::string all = "batch=8192&sequence=65536&width=16384&heads=16384&vocabulary=262144&layers=2";
  for (const std::string network : {"gpt2?", "gpt2?attention=flash&", "bert?"}) {
    EXPECT_FALSE(zoo::build(network + all).has_value()) << network;
  }
  EXPECT_FALSE(
      zoo::build(
          "llama7b?batch=8192&sequence=65536&width=16384&heads=8192&hidden=65536&vocabulary=262144&layers=2")
          .has_value());
  EXPECT_FALSE(
      zoo::build("vit?batch=8192&image=255&patch=1&width=16384&heads=16384&classes=262144").has_value());
}

}  // namespace
}  // namespace checkmate
