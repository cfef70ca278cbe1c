#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/io.h"
#include "checkmate/plan.h"
#include "checkmate/simulate.h"
#include "checkmate/zoo.h"
#include "core/random.h"

namespace checkmate {
namespace {

Graph built(std::string_view spec) { return zoo::build(spec).value(); }

std::string message(std::string_view spec) {
  const Result<Graph> graph = zoo::build(spec);
  return graph ? "" : graph.error().message;
}

TEST(Random, IsSplitMix64) {
  Random random(0);  // the first numbers that its authors publish
  EXPECT_EQ(random.next(), 0xe220a8397b1dcdafU);
  EXPECT_EQ(random.next(), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(random.next(), 0x06c45d188009454fU);
}

TEST(Random, FillsARangeAndStaysInside) {
  Random random(7);
  std::vector<int> seen(5);
  for (int i = 0; i < 1000; ++i) ++seen.at(static_cast<std::size_t>(random.between(-2, 2) + 2));
  for (const int count : seen) EXPECT_NEAR(count, 200, 60);  // 4.7 standard deviations of 12.6
  EXPECT_EQ(random.below(1), 0);
  EXPECT_EQ(random.between(3, 3), 3);
}

TEST(ZooRandom, GivesTheSameGraphForTheSameSeed) {
  for (const std::string spec :
       {"random_layered?n=300", "random_dag?n=300", "random_dag?n=300&features=full"}) {
    EXPECT_EQ(built(spec + "&seed=5"), built(spec + "&seed=5"));
    EXPECT_NE(built(spec + "&seed=5").keep_all_cost(), built(spec + "&seed=6").keep_all_cost());
  }
}

TEST(ZooRandom, GivesTheSameGraphOnEveryMachine) {
  const auto figures = [](std::string_view spec) {
    const Graph graph = built(spec);
    return fmt::format("{} edges, cost {}, peak {}", graph.edge_count(), graph.keep_all_cost().count(),
                       keep_all_peak(graph).count());
  };
  EXPECT_EQ(figures("random_layered?n=1000&seed=1"), "5917 edges, cost 485026, peak 573080");
  EXPECT_EQ(figures("random_dag?n=1000&seed=1"), "1927 edges, cost 50349, peak 4983");
  EXPECT_EQ(figures("random_dag?n=1000&seed=1&features=full"), "1812 edges, cost 41710, peak 11322");
}

/// What makes one layered graph like another.
struct Statistics {
  double edges = 0;
  double skips = 0;  ///< share of the edges that pass over a level
  double levels = 0;
  double cost = 0;   ///< an op, on average
  double bytes = 0;  ///< an op, on average
  double peak = 0;
};

Statistics statistics_of(const Graph& graph) {
  Statistics result;
  std::vector<int> level(graph.op_count());
  for (const OpId op : graph.ops()) {
    for (const TensorId input : graph.inputs(op)) {
      level[op.index()] = std::max(level[op.index()], level[graph.producer(input)->index()] + 1);
    }
    for (const TensorId input : graph.inputs(op)) {
      result.skips += level[op.index()] - level[graph.producer(input)->index()] > 1 ? 1 : 0;
    }
    result.bytes += static_cast<double>(graph.bytes(graph.outputs(op).front()).count());
  }
  const auto ops = static_cast<double>(graph.op_count());
  result.edges = static_cast<double>(graph.edge_count());
  result.skips /= result.edges;
  result.levels = 1 + *std::max_element(level.begin(), level.end());
  result.cost = static_cast<double>(graph.keep_all_cost().count()) / ops;
  result.bytes /= ops;
  result.peak = static_cast<double>(keep_all_peak(graph).count());
  return result;
}

struct PublicGraph {
  int ops;
  std::string_view width;
};
std::ostream& operator<<(std::ostream& out, const PublicGraph& graph) {
  return out << graph.ops << " ops, width " << graph.width;
}

class ZooRandomLayered : public testing::TestWithParam<PublicGraph> {};

TEST_P(ZooRandomLayered, LooksLikeThePublicGraph) {
  const auto [ops, width] = GetParam();
  const std::filesystem::path folder = CHECKMATE_SOURCE_DIR "/../shared/graphs";
  const std::filesystem::path file =
      folder / fmt::format("random_layered_n{}_w{}_nlv0.75_ed0.2_scd0.14.json", ops, width);
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the public graphs are not here: " << file;
  const Result<Graph> read = read_graph(file);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const Statistics expected = statistics_of(*read);

  constexpr int kSeeds = 40;
  Statistics mean;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Statistics one =
        statistics_of(built(fmt::format("random_layered?n={}&width={}&seed={}", ops, width, seed)));
    mean.edges += one.edges / kSeeds;
    mean.skips += one.skips / kSeeds;
    mean.levels += one.levels / kSeeds;
    mean.cost += one.cost / kSeeds;
    mean.bytes += one.bytes / kSeeds;
    mean.peak += one.peak / kSeeds;
  }
  // One public graph is one draw of the same kind: its own chance is inside these margins.
  EXPECT_NEAR(mean.edges, expected.edges, 0.15 * expected.edges);
  EXPECT_NEAR(mean.skips, expected.skips, 0.02);
  EXPECT_NEAR(mean.levels, expected.levels, 0.2 * expected.levels);
  EXPECT_NEAR(mean.cost, expected.cost, 0.1 * expected.cost);
  EXPECT_NEAR(mean.bytes, expected.bytes, 0.1 * expected.bytes);
  EXPECT_NEAR(mean.peak, expected.peak, 0.15 * expected.peak);
}

INSTANTIATE_TEST_SUITE_P(Public, ZooRandomLayered,
                         testing::Values(PublicGraph{100, "0.27"}, PublicGraph{250, "0.43"},
                                         PublicGraph{500, "0.36"}, PublicGraph{1000, "0.31"}));

TEST(ZooRandom, LayersLeadFromOneSourceToOneSink) {
  for (int seed = 0; seed < 20; ++seed) {
    const Graph graph = built(fmt::format("random_layered?n=200&seed={}", seed));
    ASSERT_EQ(graph.op_count(), 200);
    for (const OpId op : graph.ops()) {
      const bool source = op.index() == 0;
      const bool sink = op.index() == 199;
      EXPECT_EQ(graph.inputs(op).empty(), source);
      EXPECT_EQ(graph.users(graph.outputs(op).front()).empty(), sink);
      EXPECT_EQ(graph.cost(op) == Cost{0}, source || sink);
    }
  }
}

TEST(ZooRandom, LayersMayBeAChainOrComplete) {
  EXPECT_EQ(built("random_layered?n=50&width=0&skips=0").edge_count(), 49);
  // Mean width 2 x 0.5 x sqrt(16) = 4 without variation: 14 inner ops are 4, 4, 4, 2; 4 + 16 + 16 + 8 + 2
  // edges.
  EXPECT_EQ(built("random_layered?n=16&width=0.5&variation=0&density=1&skips=0").edge_count(), 46);
  EXPECT_EQ(built("random_layered?n=3").edge_count(), 2);
}

TEST(ZooRandom, LayersScale) {
  const Graph graph = built("random_layered?n=200000&width=0.02");
  EXPECT_EQ(graph.op_count(), 200'000);
  EXPECT_TRUE(simulate(graph, keep_all_plan(graph)).has_value());
}

TEST(ZooRandom, PlainDagHasOneOutputAnOpAndNothingElse) {
  const Graph graph = built("random_dag?n=500");
  EXPECT_EQ(graph.fixed_bytes(), Bytes{0});
  EXPECT_EQ(graph.tensor_count(), graph.op_count());
  for (const OpId op : graph.ops()) {
    EXPECT_GT(graph.cost(op), Cost{0});
    EXPECT_EQ(graph.workspace(op), Bytes{0});
    EXPECT_TRUE(graph.recomputable(op));
    EXPECT_FALSE(graph.output(graph.outputs(op).front()));
  }
  EXPECT_NEAR(static_cast<double>(graph.edge_count()), 2 * 500, 150);  // degree 2, less what was drawn twice
}

TEST(ZooRandom, FullDagHasEveryFeature) {
  const Graph graph = built("random_dag?n=500&features=full");
  std::size_t several = 0, free = 0, working = 0, once = 0, resident = 0, outputs = 0, empty = 0, unused = 0;
  std::vector<int> phases(kPhaseCount);
  for (const OpId op : graph.ops()) {
    several += graph.outputs(op).size() > 1;
    free += graph.cost(op) == Cost{0};
    working += graph.workspace(op) > Bytes{0};
    once += !graph.recomputable(op);
    ++phases.at(static_cast<std::size_t>(graph.phase(op)));
  }
  for (const TensorId tensor : graph.tensors()) {
    resident += graph.resident(tensor);
    outputs += graph.output(tensor);
    empty += graph.bytes(tensor) == Bytes{0};
    unused += graph.users(tensor).empty();
  }
  for (const std::size_t count : {several, free, working, once, resident, outputs, empty, unused})
    EXPECT_GT(count, 20);
  EXPECT_EQ(phases, (std::vector<int>{250, 1, 187, 62}));
  EXPECT_TRUE(simulate(graph, keep_all_plan(graph)).has_value());
}

TEST(ZooRandom, RefusesWhatIsTooLarge) {
  EXPECT_EQ(message("random_layered?n=2"),
            "zoo:random_layered?n=2: n must be a whole number from 3 to 2000000, got '2'");
  EXPECT_EQ(message("random_layered?skips=1"),
            "zoo:random_layered?skips=1: skips must be a number from 0 to 0.9, got '1'");
  EXPECT_NE(message("random_layered?n=2000000&width=1").find("choose a smaller n, width or density"),
            std::string::npos);
  EXPECT_NE(message("random_dag?n=0"), "");
  EXPECT_NE(message("random_dag?degree=9"), "");
}

}  // namespace
}  // namespace checkmate
