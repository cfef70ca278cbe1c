#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "checkmate/io.h"
#include "checkmate/simulate.h"
#include "checkmate/zoo.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string why_not(std::string text) {
  const Result<Graph> graph = parse_graph(std::move(text), "g.json");
  return graph ? "it is a graph" : graph.error().message;
}

constexpr const char* kTraining =
    R"({"directed": true, "graph": {"name": "tiny"}, "nodes": [
      {"id": 10, "name": "f", "cost_cpu": 5, "cost_ram": 8, "backward": false, "colour": [1, {"a": null}]},
      {"id": 11, "name": "g", "cost_cpu": 6.0, "cost_ram": 16, "backward": true}],
      "links": [{"source": 10, "target": 11}, {"source": 10, "target": 11}]})";

TEST(NodeLink, ReadsTrainingGraphs) {
  const Graph graph = parse_graph(kTraining).value();
  EXPECT_EQ(graph.name(), "tiny");
  EXPECT_EQ(graph.op_count(), 2U);
  EXPECT_EQ(graph.cost(OpId{1}), Cost{6});
  EXPECT_EQ(graph.bytes(TensorId{1}), Bytes{16});
  EXPECT_EQ(graph.phase(OpId{1}), Phase::kBackward);
  EXPECT_THAT(graph.inputs(OpId{1}), ElementsAre(TensorId{0}));  // the repeated link counts once
}

TEST(NodeLink, ReadsRandomLayeredGraphsInTheirOrder) {
  const Graph graph = parse_graph(
                          R"({"links": [{"0": 2, "1": 0}, {"0": 0, "1": 1}], "nodes": [
        {"name": 0, "duration": 1, "out_cost": 10}, {"name": 1, "duration": 2, "out_cost": 20}, {"name": 2, "duration": 3, "out_cost": 30}],
        "graph": {"order": [2, 0, 1], "pos": {"0": [1, 2]}}})")
                          .value();
  EXPECT_EQ(graph.name(OpId{0}), "2");
  EXPECT_EQ(graph.cost(OpId{0}), Cost{3});
  EXPECT_EQ(graph.name(OpId{2}), "1");
}

// What json.dumps(networkx.node_link_data(graph)) gives, from networkx 3.6 on.
TEST(NodeLink, ReadsEdgesTextIdsAndFractionsAsNetworkxWritesThem) {
  const Graph graph =
      parse_graph(
          R"({"directed": true, "multigraph": false, "graph": {"name": "nx", "cost_unit": "ms"},
        "nodes": [{"cost_cpu": 0.5, "cost_ram": 8, "id": "conv"},
                  {"cost_cpu": 1.25, "cost_ram": 4, "name": "relu1", "id": "relu"}],
        "edges": [{"source": "conv", "target": "relu"}]})")
          .value();
  EXPECT_EQ(graph.name(OpId{0}), "conv");  // an id in words is a name where there is no other
  EXPECT_EQ(graph.name(OpId{1}), "relu1");
  EXPECT_THAT(graph.inputs(OpId{1}), ElementsAre(TensorId{0}));
  EXPECT_EQ(graph.cost(OpId{0}), Cost{50});  // x 10^2
  EXPECT_EQ(graph.cost(OpId{1}), Cost{125});
  EXPECT_EQ(graph.cost_unit(), "ms/10^2");
  EXPECT_EQ(*parse_graph(graph_to_node_link(graph).value()), graph);
}

TEST(NodeLink, SortsNodesWithoutAnOrder) {
  const Graph graph =
      parse_graph(
          R"({"nodes": [{"duration": 1, "out_cost": 1}, {"duration": 2, "out_cost": 1}, {"duration": 3, "out_cost": 1}],
        "links": [{"0": 2, "1": 0}]})")
          .value();
  EXPECT_EQ(graph.cost(OpId{0}), Cost{2});  // node 1 is ready first, then 2, then 0, which waited for it
  EXPECT_EQ(graph.cost(OpId{1}), Cost{3});
  EXPECT_EQ(graph.cost(OpId{2}), Cost{1});
}

TEST(NodeLink, RefusesWhatDoesNotFitTogether) {
  const std::string nodes = R"("nodes": [{"duration": 1, "out_cost": 1}, {"duration": 2, "out_cost": 1}])";
  EXPECT_THAT(why_not("{" + nodes + "}"), HasSubstr("'links' (or 'edges') is missing"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [], "edges": []})"), HasSubstr("both links and edges"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "edges": [{"source": 0, "target": "1"}]})"),
              HasSubstr("$.edges[0] names the unknown node '1'"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [{"0": 0, "1": 9}]})"),
              HasSubstr("$.links[0] names the unknown node 9"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [{"0": 0}]})"),
              HasSubstr("a link needs source and target"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [{"0": 0, "1": 1}, {"0": 1, "1": 0}]})"),
              HasSubstr("cycle"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [], "graph": {"order": [0]}})"),
              HasSubstr("lists 1 of 2 nodes"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [], "graph": {"order": [0, 0]}})"),
              HasSubstr("names node 0 twice"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [], "graph": {"order": [0, 7]}})"),
              HasSubstr("unknown node 7"));
  EXPECT_THAT(why_not("{" + nodes + R"(, "links": [{"0": 0, "1": 1}], "graph": {"order": [1, 0]}})"),
              HasSubstr("topological order"));
  EXPECT_THAT(
      why_not(
          R"({"nodes": [{"id": 1, "duration": 1, "out_cost": 1}, {"id": 1, "duration": 1, "out_cost": 1}], "links": []})"),
      HasSubstr("two nodes have the id 1"));
  EXPECT_THAT(why_not(R"({"nodes": [{"out_cost": 1}], "links": []})"), HasSubstr("no cost"));
  EXPECT_THAT(why_not(R"({"nodes": [{"duration": 1}], "links": []})"), HasSubstr("no size"));
  EXPECT_THAT(why_not(R"({"nodes": [{"duration": 1, "out_cost": 1.5}], "links": []})"),
              AllOf(HasSubstr("$.nodes[0].out_cost"), HasSubstr("1.5")));
  EXPECT_THAT(why_not(R"({"nodes": [{"duration": 1e300, "out_cost": 1}], "links": []})"), HasSubstr("2^62"));
  EXPECT_THAT(why_not(R"({"nodes": [], "links": []})"), HasSubstr("no op"));
  EXPECT_THAT(why_not(R"({"nodes": [{"duration": 1, "out_cost": 1, "junk": tru}], "links": []})"),
              HasSubstr("$.nodes[0].junk"));
  EXPECT_THAT(why_not(R"({"nodes": [{"duration": 1, "out_cost": 1, "junk": nil}], "links": []})"),
              HasSubstr("$.nodes[0].junk"));
}

TEST(NodeLink, ReadsWhatItWrites) {
  const Graph graph = parse_graph(kTraining).value();
  EXPECT_EQ(*parse_graph(graph_to_node_link(graph).value()), graph);
  const Graph zoo = zoo::build("vgg16?batch=2").value();
  const Graph again = parse_graph(graph_to_node_link(zoo).value()).value();
  EXPECT_EQ(keep_all_peak(again), keep_all_peak(zoo));
  EXPECT_EQ(again.fixed_bytes(), zoo.fixed_bytes());
  EXPECT_EQ(again.keep_all_cost(), zoo.keep_all_cost());
  EXPECT_THAT(graph_to_node_link(testing::full_featured()).error().message, HasSubstr("cannot hold"));
}

TEST(NodeLink, ReadsHostileIdsInTheTimeOfOthers) {
  std::string nodes;
  for (std::int64_t i = 0; i < 60000; ++i) {
    nodes += (i == 0 ? "" : ",") + std::string(R"({"duration": 1, "out_cost": 1, "id": )") +
             std::to_string(i * 172933) + "}";
  }
  EXPECT_EQ(parse_graph(R"({"nodes": [)" + nodes + R"(], "links": []})")->op_count(), 60000U);
}

TEST(NodeLink, ReadsThePublicGraphsWithTheirPeaks) {
  const std::filesystem::path folder =
      std::filesystem::path(CHECKMATE_SOURCE_DIR) / ".." / "shared" / "graphs";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "the public benchmark graphs are not beside this checkout";
  const std::map<std::string, std::int64_t> peaks = {
      {"VGG16_MLSys_256", 15825108992},     {"VGG19_MLSys_256", 17058234368},
      {"MobileNet_MLSys_512", 34701056000}, {"ResNet50_MLSys_256", 38059356160},
      {"vgg_unet_MLSys_32", 20959461376},   {"fcn_8_vgg_MLSys_32", 13484795520},
      {"segnet_MLSys_32", 19943884288},     {"random_layered_n100_", 46319},
      {"random_layered_n250", 146840},      {"random_layered_n500", 284439},
      {"random_layered_n1000", 608619}};
  std::size_t read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    for (const auto& [prefix, peak] : peaks) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      const Result<Graph> graph = read_graph(entry.path());
      ASSERT_TRUE(graph) << graph.error().message;
      EXPECT_EQ(keep_all_peak(*graph), Bytes{peak}) << prefix;
      EXPECT_EQ(*parse_graph(graph_to_json(*graph)), *graph) << prefix;
      ++read;
    }
  }
  EXPECT_EQ(read, peaks.size());
}

}  // namespace
}  // namespace checkmate
