#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "costs/profile.h"

// Files that version 0.1 wrote. They must load for good, whatever their keys are called now.
namespace checkmate {
namespace {

std::filesystem::path old(std::string_view name) {
  return std::filesystem::path(CHECKMATE_SOURCE_DIR) / "tests/data/0.1" / name;
}

TEST(OldFiles, AGraphKeepsItsReservedBytes) {
  const Graph graph = read_graph(old("graph.json")).value();
  EXPECT_EQ(graph.reserved_bytes(), Bytes{57});  // "fixed_bytes": 57
  EXPECT_EQ(graph.fixed_bytes(), Bytes{57 + 98 + 45});
  EXPECT_EQ(parse_graph(graph_to_json(graph)).value(), graph);
}

TEST(OldFiles, APlanStillBelongsToItsGraph) {
  const Graph graph = read_graph(old("graph.json")).value();
  const PlanRecord record = read_plan(old("plan.json"), graph).value();
  EXPECT_EQ(record.graph_sha256, graph_sha256(graph));
  EXPECT_TRUE(validate(graph, record.plan, *record.budget, record.order).empty());
  EXPECT_EQ(simulate(graph, record.plan)->cost, *record.cost);
}

TEST(OldFiles, ANodeLinkGraphLoads) { EXPECT_EQ(read_graph(old("node_link.json")).value().op_count(), 9U); }

TEST(OldFiles, AProfileLoads) {
  const Profile profile = parse_profile(read_file(old("profile.json")).value(), "profile.json").value();
  EXPECT_EQ(profile.series.size(), 2U);
}

}  // namespace
}  // namespace checkmate
