#include "checkmate/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::diamond;
using ::testing::ElementsAre;
using testing::full_featured;
using ::testing::HasSubstr;

OpSpec op(std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  return {
      .name = std::move(name), .cost = Cost{1}, .inputs = std::move(inputs), .outputs = std::move(outputs)};
}

std::string only_problem(const GraphBuilder& builder) {
  const std::vector<Error> problems = builder.problems();
  EXPECT_EQ(problems.size(), 1U);
  return problems.empty() ? "" : problems[0].message;
}

TEST(Graph, KnowsItsOpsAndTensors) {
  const Graph graph = full_featured();
  EXPECT_EQ(graph.op_count(), 4U);
  EXPECT_EQ(graph.tensor_count(), 6U);
  EXPECT_EQ(graph.name(OpId{0}), "norm");
  EXPECT_EQ(graph.kind(OpId{0}), "layer_norm");
  EXPECT_EQ(graph.kind(OpId{1}), "");
  EXPECT_EQ(graph.workspace(OpId{0}), Bytes{5});
  EXPECT_EQ(graph.phase(OpId{3}), Phase::kBackward);
  EXPECT_FALSE(graph.recomputable(OpId{1}));
  EXPECT_THAT(graph.outputs(OpId{0}), ElementsAre(TensorId{1}, TensorId{2}));
  EXPECT_EQ(graph.producer(TensorId{0}), std::nullopt);
  EXPECT_EQ(graph.producer(TensorId{2}), OpId{0});
  EXPECT_THAT(graph.users(TensorId{3}), ElementsAre(OpId{2}, OpId{3}));
  EXPECT_EQ(graph.fixed_bytes(), Bytes{1100});  // 1000 reserved + the weight's 100
  EXPECT_EQ(graph.reserved_bytes(), Bytes{1000});
  EXPECT_EQ(graph.keep_all_cost(), Cost{19});  // 7 + 1 + 2 + 9
}

TEST(Graph, CountsAnEdgeOnceForEachPairOfOps) {
  EXPECT_EQ(diamond().edge_count(), 4U);
  EXPECT_EQ(full_featured().edge_count(), 5U);  // norm-drop, norm-loss, drop-loss, norm-grad, drop-grad
}

TEST(Graph, TakesOtherCosts) {
  const Graph graph = diamond();
  const std::vector<Cost> costs = {Cost{5}, Cost{0}, Cost{7}, Cost{8}};
  const Graph other = graph.with_costs(costs, "ms").value();
  EXPECT_EQ(other.cost(OpId{2}), Cost{7});
  EXPECT_EQ(other.keep_all_cost(), Cost{20});  // 5 + 0 + 7 + 8
  EXPECT_EQ(other.cost_unit(), "ms");
  EXPECT_FALSE(graph.with_costs(std::vector{Cost{1}}, "ms"));
  EXPECT_FALSE(graph.with_costs(std::vector(4, Cost{-1}), "ms"));
  EXPECT_FALSE(graph.with_costs(std::vector(4, Cost{kLargestTotal}), "ms"));
}

TEST(GraphBuilder, CountsAnInputListedTwiceOnce) {
  GraphBuilder b("square");
  const TensorId x = b.add_op_with_output(op("x", {}, {}), Bytes{1});
  b.add_op_with_output(op("x*x", {x, x}, {}), Bytes{1});
  const Graph graph = std::move(b).build().value();
  EXPECT_THAT(graph.inputs(OpId{1}), ElementsAre(x));
  EXPECT_THAT(graph.users(x), ElementsAre(OpId{1}));
}

TEST(GraphBuilder, RefusesAnEmptyGraph) {
  EXPECT_THAT(only_problem(GraphBuilder("empty")), HasSubstr("no op"));
}

TEST(GraphBuilder, NamesAnUnknownTensor) {
  GraphBuilder b("g");
  b.add_op_with_output(op("f", {TensorId{7}}, {}), Bytes{1});
  EXPECT_THAT(only_problem(b), AllOf(HasSubstr("op 0 'f'"), HasSubstr("unknown tensor 7")));
}

TEST(GraphBuilder, TellsAWrongOrderFromACycle) {
  GraphBuilder wrong_order("g");
  const TensorId late = wrong_order.add_tensor({.name = "late", .bytes = Bytes{1}});
  wrong_order.add_op_with_output(op("early", {late}, {}), Bytes{1});
  wrong_order.add_op(op("maker", {}, {late}));
  EXPECT_THAT(only_problem(wrong_order),
              AllOf(HasSubstr("op 0 'early' reads tensor 0 'late'"), HasSubstr("op 1 'maker' makes later")));

  GraphBuilder cycle("g");
  const TensorId a = cycle.add_tensor({.name = "a", .bytes = Bytes{1}});
  const TensorId b = cycle.add_tensor({.name = "b", .bytes = Bytes{1}});
  cycle.add_op(op("f", {b}, {a}));
  cycle.add_op(op("g", {a}, {b}));
  const std::vector<Error> problems = cycle.problems();
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0].message, HasSubstr("cycle: op 0 'f' -> op 1 'g' -> op 0 'f'"));
}

TEST(GraphBuilder, RefusesAnOpThatReadsItsOwnOutput) {
  GraphBuilder b("g");
  const TensorId x = b.add_tensor({.name = "x", .bytes = Bytes{1}});
  b.add_op(op("f", {x}, {x}));
  EXPECT_THAT(b.problems().front().message, HasSubstr("cycle: op 0 'f' -> op 0 'f'"));
}

TEST(GraphBuilder, ReportsEveryInconsistencyAtOnce) {
  GraphBuilder b("g");
  b.add_tensor({.name = "orphan", .bytes = Bytes{1}});
  const TensorId twice = b.add_tensor({.name = "twice", .bytes = Bytes{-4}});
  const TensorId weight =
      b.add_tensor({.name = "weight", .bytes = Bytes{1}, .resident = true, .output = true});
  b.add_op({.name = "f", .cost = Cost{-1}, .inputs = {}, .outputs = {twice, weight}, .workspace = Bytes{-2}});
  b.add_op(op("g", {}, {twice}));
  b.add_op(op("h", {}, {}));
  b.set_reserved_bytes(Bytes{-1});
  std::string all;
  for (const Error& problem : b.problems()) all += problem.message + "\n";
  for (const char* part : {"'orphan' is made by no op", "'twice' has -4 bytes", "'twice' is made by 2 ops",
                           "both resident and an output", "resident, but an op makes it", "'f' costs -1",
                           "workspace of -2", "'h' has no output", "reserved bytes are -1"}) {
    EXPECT_THAT(all, HasSubstr(part));
  }
  const Result<Graph> graph = std::move(b).build();
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("and 6 problems more"));  // 9 in all, 3 told
}

TEST(GraphBuilder, RefusesSumsThatWouldOverflow) {
  GraphBuilder bytes("g");
  for (int i = 0; i < 3; ++i) bytes.add_op_with_output(op("f", {}, {}), Bytes{kLargestTotal / 2});
  EXPECT_THAT(only_problem(bytes), HasSubstr("2^62 bytes"));

  GraphBuilder costs("g");
  for (int i = 0; i < 2; ++i) {
    costs.add_op_with_output({.name = "f", .cost = Cost{kLargestTotal}, .inputs = {}, .outputs = {}},
                             Bytes{1});
  }
  EXPECT_THAT(only_problem(costs), HasSubstr("larger cost unit"));
}

TEST(GraphBuilder, AllowsEqualNamesAndEmptyOnes) {
  GraphBuilder b("g");
  b.add_op_with_output(op("f", {}, {}), Bytes{1});
  b.add_op_with_output(op("f", {}, {}), Bytes{1});
  b.add_op_with_output(op("", {}, {}), Bytes{1});
  EXPECT_TRUE(std::move(b).build());
}

TEST(Phase, ReadsWhatItPrints) {
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    EXPECT_EQ(parse_phase(to_string(static_cast<Phase>(i))), static_cast<Phase>(i));
  }
  EXPECT_EQ(parse_phase("sideways"), std::nullopt);
}

}  // namespace
}  // namespace checkmate
