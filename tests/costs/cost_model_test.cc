#include "checkmate/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "checkmate/zoo.h"
#include "costs/profile.h"
#include "costs/roofline.h"
#include "costs/whole_cost.h"
#include "support/graphs.h"
#include "support/program.h"

namespace checkmate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct OneOp {
  std::string kind;
  std::int64_t macs = 0;
  std::int64_t reads = 0, weight = 0, makes = 0;  ///< bytes
};

/// Ops that read only resident tensors, the first one twice.
Graph graph_of(const std::vector<OneOp>& ops, const std::string& unit = "mac") {
  GraphBuilder builder("test?batch=4", unit);
  for (const OneOp& op : ops) {
    const TensorId batch = builder.add_tensor({.name = "x", .bytes = Bytes{op.reads}, .resident = true});
    const TensorId weight = builder.add_tensor({.name = "w", .bytes = Bytes{op.weight}, .resident = true});
    builder.add_op_with_output({.name = op.kind,
                                .kind = op.kind,
                                .cost = Cost{op.macs},
                                .inputs = {batch, weight, batch},
                                .outputs = {}},
                               Bytes{op.makes});
  }
  return std::move(builder).build().value();
}

std::vector<std::int64_t> costs(const Graph& graph) {
  std::vector<std::int64_t> costs;
  for (const OpId op : graph.ops()) costs.push_back(graph.cost(op).count());
  return costs;
}

std::vector<std::int64_t> costs(const Graph& graph, std::string_view spec) {
  return costs(with_cost_model(graph, spec).value());
}

std::int64_t cost_of(const Graph& graph, std::string_view name) {
  for (const OpId op : graph.ops()) {
    if (graph.name(op) == name) return graph.cost(op).count();
  }
  throw std::logic_error("no op " + std::string(name));
}

std::string why_not(const Graph& graph, std::string_view spec) {
  const Result<Graph> costed = with_cost_model(graph, spec);
  return costed ? "it has costs" : costed.error().message;
}

TEST(CostModel, FileLeavesTheGraphAsItIs) {
  EXPECT_EQ(with_cost_model(testing::full_featured(), "file").value(), testing::full_featured());
}

TEST(CostModel, RefusesAnUnknownModelAndListsTheKnownOnes) {
  for (const char* const spec : {"", "FLOPS", "file:x", "flops:", "measured"}) {
    EXPECT_THAT(why_not(testing::diamond(), spec),
                AllOf(StartsWith("cost model '" + std::string(spec) + "': unknown"),
                      HasSubstr("file, flops, roofline:DEVICE[:TYPE] (devices v100, a100, h100, cpu)")));
  }
}

TEST(CostModel, CountsTwoFlopsAMultiplyAccumulate) {
  const Graph flops = with_cost_model(graph_of({{"mm", 21}, {"relu", 4}}), "flops").value();
  EXPECT_THAT(costs(flops), ElementsAre(42, 8));
  EXPECT_EQ(flops.cost_unit(), "flop");
  EXPECT_EQ(with_cost_model(flops, "flops").value(), flops);
}

TEST(CostModel, RefusesFlopsOfCostsThatCountNoArithmetic) {
  const Graph timed = graph_of({{"mm", 21}}, "ns");
  for (const char* const spec : {"flops", "roofline:v100"}) {
    EXPECT_THAT(why_not(timed, spec),
                AllOf(HasSubstr("needs costs in mac or flop, but graph 'test?batch=4' has them in 'ns'"),
                      HasSubstr("(file)"), HasSubstr("cost_unit")));
  }
}

TEST(CostModel, RefusesFlopsPastTheLargestTotal) {
  // 2 x 2^61 = 2^62 is still allowed; 2 x 2^62 = 2^63 is not even a number.
  EXPECT_THAT(costs(graph_of({{"mm", kLargestTotal / 2}}), "flops"), ElementsAre(kLargestTotal));
  EXPECT_THAT(why_not(graph_of({{"mm", kLargestTotal}}), "flops"), HasSubstr("more than 2^62"));
  EXPECT_THAT(why_not(graph_of({{"mm", kLargestTotal / 2}, {"mm", 1}}), "flops"),
              HasSubstr("more than 2^62"));
}

TEST(Roofline, TakesTheSlowerOfArithmeticAndTraffic) {
  const Graph graph = graph_of({
      {.kind = "mm", .macs = 15'700'000, .reads = 90'000, .weight = 9'000, .makes = 900},
      {.kind = "mm", .macs = 157'000, .reads = 90'000, .weight = 9'000, .makes = 900},
      {.kind = "mm"},
  });
  const Graph timed = with_cost_model(graph, "roofline:v100").value();
  // 5000 + 2 x 15.7e6 / 15700 = 5000 + 2000, where the traffic takes (90000 + 9000 + 900) / 900 = 111;
  // 5000 + 111, where the arithmetic takes 2 x 157000 / 15700 = 20; the launch alone.
  EXPECT_THAT(costs(timed), ElementsAre(7'000, 5'111, 5'000));
  EXPECT_EQ(timed.cost_unit(), "ns");
  // On one core 1000 + 31.4e6 / 96 = 328083.3; 1000 + max(99900 / 10, 314000 / 96 = 3270.8).
  EXPECT_THAT(costs(graph, "roofline:cpu"), ElementsAre(328'083, 10'990, 1'000));
  // From flops the same: 15700 x 2000 / 15700.
  EXPECT_THAT(costs(with_cost_model(graph, "flops").value(), "roofline:v100"),
              ElementsAre(7'000, 5'111, 5'000));
}

TEST(Roofline, RunsProductsAtTheMatrixRateOfTheType) {
  const Graph graph = graph_of({{.kind = "conv2d", .macs = 1'000'000'000}});
  EXPECT_THAT(costs(graph, "roofline:v100:fp32"), ElementsAre(132'389));  // 5000 + 2e9 / 15700 = 127388.5
  EXPECT_THAT(costs(graph, "roofline:V100:FP16"), ElementsAre(21'000));   // 5000 + 2e9 / 125000
  EXPECT_THAT(costs(graph, "roofline:a100"), ElementsAre(107'564));       // 5000 + 2e9 / 19500 = 102564.1
  EXPECT_THAT(costs(graph, "roofline:A100:tf32"), ElementsAre(17'821));   // 5000 + 2e9 / 156000 = 12820.5
  EXPECT_THAT(costs(graph, "roofline:a100:bf16"), ElementsAre(11'410));   // 5000 + 2e9 / 312000 = 6410.3
  EXPECT_THAT(costs(graph, "roofline:h100"), ElementsAre(34'851));        // 5000 + 2e9 / 67000 = 29850.7
  EXPECT_THAT(costs(graph, "roofline:h100:tf32"), ElementsAre(9'043));    // 5000 + 2e9 / 494700 = 4042.9
  EXPECT_THAT(costs(graph, "roofline:h100:fp16"), ElementsAre(7'021));    // 5000 + 2e9 / 989400 = 2021.4
}

TEST(Roofline, RunsEachKindAtTheRateOfItsClass) {
  const Graph graph = graph_of({{.kind = "flash_attention_backward", .macs = 1'570'000, .reads = 9'000},
                                {.kind = "softmax_grad", .macs = 1'570'000, .reads = 9'000},
                                {.kind = "depthwise_conv2d", .macs = 1'570'000, .reads = 9'000},
                                {.kind = "max_pool_grad", .macs = 1'570'000, .reads = 9'000},
                                {.kind = "reshape", .reads = 9'000, .makes = 9'000},
                                {.kind = "mystery", .macs = 1'570'000, .reads = 9'000},
                                {.kind = "", .macs = 1'570'000, .reads = 9'000}});
  // 3.14e6 / 125000 = 25.1; / 15700 = 200 though the type is fp16; 9000 / 900 = 10; a reshape copies.
  EXPECT_THAT(costs(graph, "roofline:v100:fp16"),
              ElementsAre(5'025, 5'200, 5'200, 5'010, 5'020, 5'200, 5'200));
  EXPECT_EQ(unknown_kind_count(graph), 2U);  // the last two
}

TEST(Roofline, GivesTheTimesThatTheDocumentationWorksOut) {
  const Graph vgg = zoo::build("vgg16?batch=1").value();
  EXPECT_EQ(cost_of(with_cost_model(vgg, "roofline:v100").value(), "block1_conv2"), 240'629);
  EXPECT_EQ(cost_of(with_cost_model(vgg, "roofline:v100:fp16").value(), "block1_conv2"), 34'595);
}

TEST(Roofline, KnowsEveryKindOfTheZoo) {
  std::size_t count = 0;
  for (const zoo::Network& network : zoo::networks()) {
    std::vector<std::string> specs = {std::string(network.name)};
    for (const zoo::Parameter& parameter : network.parameters) {
      if (parameter.name == "attention") specs.push_back(specs[0] + "?attention=flash&update=sgd");
    }
    for (const std::string& spec : specs) {
      const Graph graph = zoo::build(spec).value();
      if (graph.cost_unit() != "mac") continue;
      ++count;
      EXPECT_EQ(unknown_kind_count(graph), 0U) << spec;
    }
  }
  EXPECT_GT(count, 12U);
}

TEST(Roofline, SortsKindsAsTheDocumentationDoes) {
  std::istringstream page(
      testing::read_text(std::filesystem::path(CHECKMATE_SOURCE_DIR) / "docs/cost_models.md"));
  const std::map<std::string, OpClass> classes = {{"| matrix |", OpClass::kMatrix},
                                                  {"| vector |", OpClass::kVector},
                                                  {"| movement |", OpClass::kMovement}};
  std::size_t count = 0;
  for (std::string line; std::getline(page, line);) {
    const auto row = classes.find(line.substr(0, line.find('|', 1) + 1));
    if (row == classes.end()) continue;
    std::istringstream parts(line);
    std::string kind;
    while (std::getline(parts, kind, '`') && std::getline(parts, kind, '`')) {
      EXPECT_EQ(op_class(kind), row->second) << kind;
      ++count;
    }
  }
  EXPECT_EQ(count, 15U + 33U + 18U);
}

TEST(Roofline, RefusesDevicesAndTypesThatItDoesNotKnow) {
  const Graph graph = graph_of({{"mm", 1}});
  EXPECT_THAT(why_not(graph, "roofline:k80"),
              HasSubstr("unknown device 'k80'; known are v100, a100, h100, cpu"));
  EXPECT_THAT(why_not(graph, "roofline"), HasSubstr("unknown device ''"));
  EXPECT_THAT(why_not(graph, "roofline:"), HasSubstr("unknown device ''"));
  EXPECT_THAT(why_not(graph, "roofline:v100:bf16"),
              HasSubstr("v100 does not support 'bf16'; it supports fp32, fp16"));
  EXPECT_THAT(why_not(graph, "roofline:cpu:tf32"), EndsWith("it supports fp32"));
  EXPECT_THAT(why_not(graph, "roofline:a100:"), HasSubstr("''; it supports fp32, tf32, fp16, bf16"));
  EXPECT_THAT(why_not(graph, "roofline:a100:fp16:x"), HasSubstr("does not support 'fp16:x'"));
  EXPECT_THAT(cost_devices(), ElementsAre("v100", "a100", "h100", "cpu"));
}

TEST(Roofline, HoldsTheLargestGraph) {
  // 2^63 flops at 96 and 2^62 bytes at 10 a nanosecond: 2^62 / 10 = 461168601842738790.4, and the launch.
  const Graph graph = graph_of({{.kind = "mm", .macs = kLargestTotal, .makes = kLargestTotal}});
  EXPECT_NEAR(static_cast<double>(costs(graph, "roofline:cpu")[0]), 461168601842739790.0, 100);
}

RC_GTEST_PROP(RooflineProperty, NeverGetsCheaperWithMoreBatch, ()) {
  const std::string network =
      *rc::gen::element("vgg16", "mobilenet", "unet", "gpt2?layers=1&", "llama7b?layers=1&", "vit?layers=1&");
  const std::string device =
      *rc::gen::element("v100", "v100:fp16", "a100:tf32", "a100:bf16", "h100", "h100:fp16", "cpu");
  const int fewer = *rc::gen::inRange(1, 600);
  const int more = fewer + *rc::gen::inRange(1, 600);
  const auto costs_at = [&](int batch) {
    const std::string separator = network.back() == '&' ? "" : "?";
    return costs(zoo::build(network + separator + "batch=" + std::to_string(batch)).value(),
                 "roofline:" + device);
  };
  const std::vector<std::int64_t> before = costs_at(fewer);
  const std::vector<std::int64_t> after = costs_at(more);
  RC_ASSERT(before.size() == after.size());
  for (std::size_t op = 0; op < before.size(); ++op) RC_ASSERT(before[op] <= after[op]);
}

TEST(WholeCost, RoundsToTheNearestAndNeverWraps) {
  EXPECT_EQ(whole_cost(2.5), Cost{3});
  EXPECT_EQ(whole_cost(2.49), Cost{2});
  EXPECT_EQ(whole_cost(-7), Cost{0});
  EXPECT_EQ(whole_cost(std::numeric_limits<double>::quiet_NaN()), Cost{0});
  EXPECT_EQ(whole_cost(1e300).count(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole_cost(0x1p62).count(), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace checkmate
