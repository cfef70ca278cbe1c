#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkmate/io.h"
#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/zoo.h"
#include "zoo/layers.h"

namespace checkmate::zoo {
namespace {

OpId op_named(const Graph& graph, std::string_view name) {
  for (const OpId op : graph.ops()) {
    if (graph.name(op) == name) return op;
  }
  throw std::logic_error("no op " + std::string(name));
}

std::int64_t cost_of(const Graph& graph, std::string_view op) {
  return graph.cost(op_named(graph, op)).count();
}

std::int64_t output_bytes(const Graph& graph, OpId op) {
  Bytes sum;
  for (const TensorId tensor : graph.outputs(op)) sum += graph.bytes(tensor);
  return sum.count();
}

std::int64_t output_bytes(const Graph& graph, std::string_view op) {
  return output_bytes(graph, op_named(graph, op));
}

std::vector<OpId> dependencies(const Graph& graph, OpId op) {
  std::vector<OpId> ops;
  for (const TensorId input : graph.inputs(op)) {
    if (const auto producer = graph.producer(input)) ops.push_back(*producer);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::vector<std::string> dependencies(const Graph& graph, std::string_view op) {
  std::vector<std::string> names;
  for (const OpId producer : dependencies(graph, op_named(graph, op)))
    names.emplace_back(graph.name(producer));
  return names;
}

/// `image -> left (conv) -> right (relu) -> sum <- left`, then a dense layer.
Graph residual(std::int64_t batch) {
  LayerNetwork net({4, 6, 3});
  const LayerId left = net.conv("left", LayerNetwork::image(), {.filters = 5, .kernel = {3, 1}});
  const LayerId right = net.activation("right", left, "relu");
  const LayerId sum = net.add("sum", {left, right});
  net.dense("scores", net.flatten("flat", sum), 10);
  return net.training_graph("residual", batch).value();
}

using Names = std::vector<std::string>;

TEST(LayerNetwork, RunsLayersThenTheLossThenGradientsInReverse) {
  const Graph graph = residual(2);
  Names names;
  for (const OpId op : graph.ops()) names.emplace_back(graph.name(op));
  EXPECT_EQ(names, (Names{"left", "right", "sum", "flat", "scores", "loss", "scores_grad", "flat_grad",
                          "sum_grad", "right_grad", "left_grad"}));
  EXPECT_EQ(graph.kind(op_named(graph, "left")), "conv2d");
  EXPECT_EQ(graph.kind(op_named(graph, "left_grad")), "conv2d_grad");
  EXPECT_EQ(graph.phase(op_named(graph, "scores")), Phase::kForward);
  EXPECT_EQ(graph.phase(op_named(graph, "loss")), Phase::kLoss);
  EXPECT_EQ(graph.phase(op_named(graph, "left_grad")), Phase::kBackward);
  EXPECT_EQ(graph.cost_unit(), "mac");
}

TEST(LayerNetwork, GradientReadsItsLayerTheConsumersAndTheirGradients) {
  const Graph graph = residual(1);
  EXPECT_EQ(dependencies(graph, "left"), Names{});
  EXPECT_EQ(dependencies(graph, "sum"), (Names{"left", "right"}));
  EXPECT_EQ(dependencies(graph, "loss"), (Names{"scores"}));
  EXPECT_EQ(dependencies(graph, "scores_grad"), (Names{"scores", "loss"}));
  EXPECT_EQ(dependencies(graph, "flat_grad"), (Names{"flat", "scores", "scores_grad"}));
  EXPECT_EQ(dependencies(graph, "right_grad"), (Names{"right", "sum", "sum_grad"}));
  EXPECT_EQ(dependencies(graph, "left_grad"), (Names{"left", "right", "sum", "sum_grad", "right_grad"}));
}

TEST(LayerNetwork, CountsBytesCostsAndParametersByTheFormulas) {
  const std::int64_t batch = 2;
  const Graph graph = residual(batch);
  EXPECT_EQ(output_bytes(graph, "left"), batch * 4 * 4 * 6 * 5);
  EXPECT_EQ(output_bytes(graph, "left_grad"), batch * 4 * 4 * 6 * 5);
  EXPECT_EQ(output_bytes(graph, "loss"), batch * 4);
  EXPECT_EQ(cost_of(graph, "left"), batch * 3 * 1 * 3 * 4 * 6 * 5);
  EXPECT_EQ(cost_of(graph, "left_grad"), 2 * batch * 3 * 1 * 3 * 4 * 6 * 5);
  EXPECT_EQ(cost_of(graph, "right"), batch * 4 * 6 * 5);
  EXPECT_EQ(cost_of(graph, "sum"), batch * 2 * 4 * 6 * 5);
  EXPECT_EQ(cost_of(graph, "flat"), 0);
  EXPECT_EQ(cost_of(graph, "scores"), batch * 4 * 6 * 5 * 10);
  EXPECT_EQ(cost_of(graph, "loss"), 0);
  // Convolution 3 x 1 x 3 x 5 + 5 = 50, dense 120 x 10 + 10 = 1210; 8 bytes a weight and its gradient.
  EXPECT_EQ(graph.fixed_bytes(), 8 * Bytes{50 + 1210});
}

TEST(LayerNetwork, ShapesFollowWindowStrideAndPadding) {
  LayerNetwork net({7, 10, 3});
  const LayerId image = LayerNetwork::image();
  const auto expect = [&net](LayerId layer, const Shape& shape) { EXPECT_EQ(net.shape(layer), shape); };
  expect(net.conv("same", image, {.filters = 8, .stride = 2}), {4, 5, 8});
  expect(net.conv("valid", image, {.filters = 8, .stride = 2, .padding = Padding::kValid}), {3, 4, 8});
  expect(net.depthwise_conv("depthwise", image, {.kernel = {1, 3}, .padding = Padding::kValid}), {7, 8, 3});
  expect(net.transposed_conv("transposed", image, {.filters = 2, .kernel = 4}),
         {16, 22, 2});  // 2 (n - 1) + 4
  expect(net.max_pool("pool", image), {3, 5, 3});
  expect(net.avg_pool("everywhere", image, {.window = 3, .stride = 1, .padding = Padding::kSame}),
         {7, 10, 3});
  expect(net.global_avg_pool("global", image), {1, 1, 3});
  expect(net.zero_pad("pad", image, 1, 2), {10, 13, 3});
  expect(net.upsample("up", image), {14, 20, 3});
  expect(net.crop("crop", image, {5, 10}), {5, 10, 3});
  expect(net.concat("concat", {image, image}), {7, 10, 6});
  expect(net.flatten("flat", image), {1, 1, 210});
}

TEST(LayerNetwork, CountsParametersThatTrainingDoesNotChange) {
  LayerNetwork net({8, 8, 3});
  const LayerId image = LayerNetwork::image();
  net.batch_norm("bn", image);                               // 4 x 3 = 12
  net.batch_norm("unscaled", image, false);                  // 3 x 3 = 9
  net.depthwise_conv("depthwise", image, {.bias = false});   // 9 x 3 = 27
  net.transposed_conv("transposed", image, {.filters = 2});  // 4 x 3 x 2 + 2 = 26
  EXPECT_EQ(net.parameter_count(), 12 + 9 + 27 + 26);
}

TEST(LayerNetwork, RefusesInputsThatDoNotFit) {
  LayerNetwork net({4, 4, 3});
  const LayerId image = LayerNetwork::image();
  const LayerId pooled = net.max_pool("pooled", image);
  EXPECT_THROW(net.add("sum", {image, pooled}), std::logic_error);
  EXPECT_THROW(net.concat("concat", {image, pooled}), std::logic_error);
  EXPECT_THROW(net.crop("crop", pooled, 3), std::logic_error);
  EXPECT_THROW(net.reshape("reshape", image, {1, 1, 47}), std::logic_error);
  EXPECT_THROW(net.conv("conv", image, {.filters = 1, .kernel = 5, .padding = Padding::kValid}),
               std::logic_error);
}

struct Figures {
  const char* spec;
  std::size_t ops, edges;
  std::int64_t peak;  // keep-all, without the fixed bytes
};
std::ostream& operator<<(std::ostream& out, const Figures& figures) { return out << figures.spec; }

class PaperNetwork : public testing::TestWithParam<Figures> {};

TEST_P(PaperNetwork, HasThePapersOpsEdgesAndPeak) {
  const Graph graph = build(GetParam().spec).value();
  EXPECT_EQ(graph.op_count(), GetParam().ops);
  EXPECT_EQ(graph.edge_count(), GetParam().edges);
  EXPECT_EQ(keep_all_peak(graph), Bytes{GetParam().peak});
}

INSTANTIATE_TEST_SUITE_P(Zoo, PaperNetwork,
                         testing::Values(Figures{"vgg16?batch=256", 45, 87, 15825108992},
                                         Figures{"vgg19?batch=256", 51, 99, 17058234368},
                                         Figures{"mobilenet?batch=512", 185, 367, 34701056000},
                                         Figures{"resnet50?batch=256", 353, 751, 38059356160},
                                         Figures{"unet?batch=32", 71, 148, 20959461376},
                                         Figures{"fcn8?batch=32", 73, 149, 13484795520},
                                         Figures{"segnet?batch=32", 77, 151, 19943884288}));

struct ParameterCount {
  const char* spec;
  std::int64_t parameters;
};
std::ostream& operator<<(std::ostream& out, const ParameterCount& count) { return out << count.spec; }

class PublishedNetwork : public testing::TestWithParam<ParameterCount> {};

TEST_P(PublishedNetwork, HasThePublishedNumberOfParameters) {
  const Graph graph = build(GetParam().spec).value();
  EXPECT_EQ(graph.fixed_bytes(), 8 * Bytes{GetParam().parameters});
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, PublishedNetwork,
    testing::Values(ParameterCount{"vgg16", 138357544}, ParameterCount{"vgg19", 143667240},
                    ParameterCount{"mobilenet", 4253864}, ParameterCount{"resnet50", 25636712},
                    ParameterCount{"resnet?depth=101", 44707176},
                    ParameterCount{"resnet?depth=152", 60419944}, ParameterCount{"densenet121", 8062504},
                    // 28,681,000 that train, and mean and variance of 109,968 normalised channels.
                    ParameterCount{"densenet161", 28681000 + 2 * 109968},
                    ParameterCount{"inception3", 23851784},
                    // 31,030,593 with one class; a second adds 64 weights and a bias.
                    ParameterCount{"unet_plain", 31030593 + 65}));

TEST(Zoo, Vgg19sLargestStepHoldsFourFullSizeTensors) {
  const Graph graph = build("vgg19").value();
  const StructuralMinimum minimum = structural_minimum(graph);
  EXPECT_EQ(minimum.bytes, Bytes{51380224});  // 4 x (224 x 224 x 64 floats)
  // Its layer, the next layer, the next layer's gradient, and its own output.
  EXPECT_EQ(graph.name(minimum.op), "block1_conv1_grad");
}

TEST(Zoo, Fcn8CostsMultiplyAccumulates) {
  const std::int64_t batch = 32;
  const Graph graph = build("fcn8?batch=32").value();
  EXPECT_EQ(cost_of(graph, "block1_conv1"), batch * 9 * 3 * 416 * 608 * 64);
  EXPECT_EQ(cost_of(graph, "block1_pool"), 0);
  EXPECT_EQ(cost_of(graph, "fc6"), batch * 49 * 512 * 13 * 19 * 4096);
  // 13 x 19 scores spread to 2 (n - 1) + 4 = 28 x 40, the kernel of 4 x 4 not counted.
  EXPECT_EQ(cost_of(graph, "level4_up"), batch * 19 * 28 * 40 * 19);
  EXPECT_EQ(cost_of(graph, "level4_crop_width"), 0);
  EXPECT_EQ(cost_of(graph, "level4_add"), batch * 2 * 26 * 38 * 19);
  // 52 x 76 scores spread to 8 (n - 1) + 16 = 424 x 616.
  EXPECT_EQ(cost_of(graph, "up"), batch * 19 * 424 * 616 * 19);
  EXPECT_EQ(cost_of(graph, "probabilities"), batch * 424 * 616 * 19);
  EXPECT_EQ(cost_of(graph, "probabilities_grad"), 2 * batch * 424 * 616 * 19);
}

TEST(Zoo, SegnetCostsBatchNormAndUpsamplingByTheElement) {
  const Graph graph = build("segnet").value();
  EXPECT_EQ(cost_of(graph, "encoder1_bn"), 4 * (416 * 608 * 64));
  EXPECT_EQ(cost_of(graph, "encoder1_relu"), 416 * 608 * 64);
  EXPECT_EQ(cost_of(graph, "decoder2_up"), 52 * 76 * 512);
}

TEST(Zoo, LinearIsAChainOfUnitOps) {
  const Graph graph = build("linear?n=8").value();
  EXPECT_EQ(graph.op_count(), 17U);    // 8 layers, the loss, 8 gradients
  EXPECT_EQ(graph.edge_count(), 31U);  // 7 + 1 forward, 2 for the last gradient, 3 for each of 7 others
  for (const OpId op : graph.ops()) {
    EXPECT_EQ(graph.cost(op), Cost{1});
    EXPECT_EQ(output_bytes(graph, op), 1);
  }
  EXPECT_EQ(graph.fixed_bytes(), Bytes{0});
  EXPECT_EQ(keep_all_peak(graph), Bytes{10});  // all layers, the loss, the first gradient
  EXPECT_EQ(dependencies(graph, "layer8_grad"), (Names{"layer8", "loss"}));
  EXPECT_EQ(dependencies(graph, "layer3_grad"), (Names{"layer3", "layer4", "layer4_grad"}));
  EXPECT_EQ(build("linear?n=1").value().op_count(), 3U);
}

TEST(Zoo, DepthAndRepeatMakeResnetDeep) {
  EXPECT_EQ(build("resnet?depth=50").value().op_count(), build("resnet50").value().op_count());
  // 8 layers outside the blocks, 10 a block, 2 for each stage's projection; 3 + 8 + 36 + 3 = 50 blocks.
  EXPECT_EQ(build("resnet?depth=152&repeat=10").value().op_count(), 2U * (8 + 10 * 500 + 2 * 4) + 1);
}

TEST(Zoo, ImagesOfAnySizeInRangeGiveAGraph) {
  const auto expect_graph = [](const std::string& spec) { EXPECT_TRUE(build(spec)) << spec; };
  for (const char* network : {"vgg16", "mobilenet", "resnet50", "densenet121", "densenet161"}) {
    for (const int size : {32, 33, 511, 4096}) expect_graph(fmt::format("{}?size={}", network, size));
  }
  for (const int size : {75, 76, 4096}) expect_graph(fmt::format("inception3?size={}", size));
  for (const char* network : {"fcn8", "segnet"}) {
    for (const int height : {32, 33, 4096})
      expect_graph(fmt::format("{}?height={}&width=47", network, height));
  }
  expect_graph("unet?height=48&width=4096");
  expect_graph("unet_plain?size=48");
}

TEST(Zoo, AmountsPastTheLimitAreErrorsNotExceptions) {
  for (const char* spec :
       {"vgg16?batch=1048576&size=4096", "fcn8?batch=1048576&height=4096&width=4096&classes=65536",
        "unet_plain?batch=1048576&size=4096&classes=65536", "densenet161?batch=1048576&size=4096"}) {
    EXPECT_FALSE(build(spec)) << spec;
  }
}

TEST(Zoo, RefusesValuesThatMakeNoNetwork) {
  EXPECT_NE(build("unet?width=600").error().message.find("multiple of 16"), std::string::npos);
  EXPECT_NE(build("unet_plain?size=572").error().message.find("multiple of 16"), std::string::npos);
  for (const char* spec : {"vgg16?size=31", "vgg19?batch=0", "mobilenet?classes=0", "inception3?size=74",
                           "resnet?depth=34", "resnet?repeat=0", "linear?n=0", "linear?n=1000001"}) {
    EXPECT_FALSE(build(spec)) << spec;
  }
}

struct PublicGraph {
  const char* spec;
  const char* file;
  bool costs_are_macs;
};
constexpr PublicGraph kPublicGraphs[] = {
    {"vgg16?batch=256", "VGG16_MLSys_256_224_224_3_train_nx.json", false},
    {"vgg19?batch=256", "VGG19_MLSys_256_224_224_3_train_nx.json", false},
    {"mobilenet?batch=512", "MobileNet_MLSys_512_224_224_3_train_nx.json", false},
    {"resnet50?batch=256", "ResNet50_MLSys_256_224_224_3_train_nx.json", false},
    {"unet?batch=32", "vgg_unet_MLSys_32_416_608_3_train_nx.json", false},
    {"fcn8?batch=32", "fcn_8_vgg_MLSys_32_416_608_3_train_nx.json", true},
    {"segnet?batch=32", "segnet_MLSys_32_416_608_3_train_nx.json", false},
};

TEST(Zoo, EqualsThePublicGraphsOpByOp) {
  const std::filesystem::path folder = CHECKMATE_SOURCE_DIR "/../shared/graphs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the public graphs are not in " << folder;
  for (const auto& [spec, file, costs_are_macs] : kPublicGraphs) {
    SCOPED_TRACE(spec);
    const Graph ours = build(spec).value();
    const Graph theirs = read_graph(folder / file).value();
    ASSERT_EQ(ours.op_count(), theirs.op_count());
    for (const OpId op : ours.ops()) {
      ASSERT_EQ(output_bytes(ours, op), output_bytes(theirs, op)) << ours.name(op);
      ASSERT_EQ(dependencies(ours, op), dependencies(theirs, op)) << ours.name(op);
      if (costs_are_macs) {
        ASSERT_EQ(ours.cost(op), theirs.cost(op)) << ours.name(op);
      }
    }
  }
}

}  // namespace
}  // namespace checkmate::zoo
