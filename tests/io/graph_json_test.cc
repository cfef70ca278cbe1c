#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkmate/io.h"
#include "support/graphs.h"
#include "support/program.h"

namespace checkmate {
namespace {

using testing::Features;
using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string why_not(std::string text) {
  const Result<Graph> graph = parse_graph(std::move(text), "g.json");
  return graph ? "it is a graph" : graph.error().message;
}

/// A right graph with one part replaced.
std::string with(const std::string& part, const std::string& instead) {
  std::string text =
      "{\"format\": \"checkmate.graph\", \"version\": 1, \"name\": \"n\", \"cost_unit\": \"ns\", "
      "\"reserved_bytes\": 0,\n"
      "\"tensors\": [{\"name\": \"t\", \"bytes\": 4}],\n"
      "\"ops\": [{\"name\": \"f\", \"cost\": 3, \"inputs\": [], \"outputs\": [0]}]}";
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, part.size(), instead);
}

TEST(GraphJson, ReadsWhatItWrites) {
  for (const Graph& graph : {testing::diamond(), testing::full_featured(), testing::chain(4)}) {
    const Result<Graph> again = parse_graph(graph_to_json(graph));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, graph);
    EXPECT_EQ(graph_to_json(*again), graph_to_json(graph));
  }
}

RC_GTEST_PROP(GraphJsonProperty, ARoundTripIsExact, (std::uint64_t seed)) {
  const Graph graph = testing::random_graph(seed, *rc::gen::inRange<std::size_t>(1, 40), Features::all());
  const Result<Graph> again = parse_graph(graph_to_json(graph));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == graph);
}

TEST(GraphJson, KeepsAnyName) {
  GraphBuilder b("line\nbreak \"quotes\" \\ \x01 ünïcödé 漢字 </script>");
  b.add_op_with_output({.name = std::string(10000, 'x'), .cost = Cost{1}, .inputs = {}, .outputs = {}},
                       Bytes{1});
  const Graph graph = std::move(b).build().value();
  EXPECT_EQ(*parse_graph(graph_to_json(graph)), graph);
}

TEST(GraphJson, TakesLeftOutMembersAsTheirDefaults) {
  const Graph graph = parse_graph(
                          "{\"format\": \"checkmate.graph\", \"version\": 1, \"tensors\": [{\"bytes\": 4}], "
                          "\"ops\": [{\"cost\": 3, \"inputs\": [], \"outputs\": [0]}]}")
                          .value();
  EXPECT_EQ(graph.cost_unit(), "ns");
  EXPECT_EQ(graph.phase(OpId{0}), Phase::kForward);
  EXPECT_TRUE(graph.recomputable(OpId{0}));
  EXPECT_EQ(graph.name(OpId{0}), "");
}

TEST(GraphJson, NamesTheLineAndThePath) {
  EXPECT_THAT(why_not(with("\"bytes\": 4", "\"bytes\": 1.5")),
              AllOf(HasSubstr("g.json:2: $.tensors[0].bytes"), HasSubstr("whole number"), HasSubstr("1.5")));
  EXPECT_THAT(why_not(with("\"bytes\": 4", "\"bytes\": -4")),
              AllOf(HasSubstr("$.tensors[0].bytes"), HasSubstr("at least 0, got -4")));
}

TEST(GraphJson, ReadsCostsWithAFractionAsWholeNumbersOfASmallerUnit) {
  const Graph graph = parse_graph(with("\"cost\": 3", "\"cost\": 1.25")).value();
  EXPECT_EQ(graph.cost(OpId{0}), Cost{125});
  EXPECT_EQ(graph.cost_unit(), "ns/10^2");
  EXPECT_EQ(parse_graph(graph_to_json(graph)).value(), graph);
  EXPECT_EQ(parse_graph(with("\"cost\": 3", "\"cost\": 3.0")).value(), parse_graph(with("", "")).value());
}

TEST(GraphJson, RefusesWrongNumbers) {
  for (const char* number : {"99999999999999999999", "1e300", "NaN", "Infinity", "\"3\"", "null", "true",
                             "0x10", "9223372036854775808", "-0.5"}) {
    EXPECT_THAT(why_not(with("\"cost\": 3", std::string("\"cost\": ") + number)), HasSubstr("$.ops[0].cost"))
        << number;
  }
}

TEST(GraphJson, RefusesWrongFormatsAndVersions) {
  EXPECT_THAT(why_not(with("checkmate.graph", "checkmate.plan")), HasSubstr("another kind of file"));
  EXPECT_THAT(why_not(with("\"version\": 1", "\"version\": 2")),
              HasSubstr("version 2 of the format is unknown"));
  EXPECT_THAT(why_not("{\"hello\": 1}"), HasSubstr("neither a checkmate.graph"));
  EXPECT_THAT(why_not("[1, 2]"), HasSubstr("expected an object"));
  EXPECT_THAT(why_not("7"), HasSubstr("expected a JSON object"));
}

TEST(GraphJson, RefusesUnknownRepeatedAndMissingMembers) {
  EXPECT_THAT(why_not(with("\"cost\": 3", "\"cost\": 3, \"recomputeable\": false")),
              AllOf(HasSubstr("$.ops[0].recomputeable"), HasSubstr("unknown member")));
  EXPECT_THAT(why_not(with("\"cost\": 3", "\"cost\": 3, \"cost\": 4")), HasSubstr("given twice"));
  EXPECT_THAT(why_not(with("\"cost\": 3, ", "")),
              AllOf(HasSubstr("$.ops[0]"), HasSubstr("'cost' is missing")));
  EXPECT_THAT(why_not(with("\"name\": \"f\"", "\"phase\": \"sideways\"")),
              HasSubstr("expected forward, loss, backward or update"));
}

TEST(GraphJson, RefusesEveryTruncation) {
  const std::string whole = graph_to_json(testing::full_featured());
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    const Result<Graph> graph = parse_graph(whole.substr(0, size), "g.json");
    ASSERT_FALSE(graph) << size;
    EXPECT_THAT(graph.error().message, HasSubstr("g.json")) << size;
  }
  EXPECT_THAT(why_not(""), HasSubstr("empty"));
  EXPECT_THAT(why_not(whole.substr(0, whole.find("\"ops\"") + 3)), HasSubstr("truncated"));
}

TEST(GraphJson, RefusesTextAfterTheEnd) {
  EXPECT_THAT(why_not(graph_to_json(testing::diamond()) + "{}"), HasSubstr("g.json"));
  EXPECT_THAT(why_not(graph_to_json(testing::diamond()) + " 7"), HasSubstr("g.json"));
}

TEST(GraphJson, RefusesDeepNesting) {
  EXPECT_THAT(why_not(std::string(100000, '[')), HasSubstr("g.json"));
  EXPECT_THAT(why_not("{\"nodes\": " + std::string(100000, '[') + std::string(100000, ']') + "}"),
              HasSubstr("g.json"));
  EXPECT_THAT(why_not("{\"nodes\": [], \"extra\": " + std::string(100000, '[') + std::string(100000, ']') +
                      ", \"links\": []}"),
              HasSubstr("deeper"));
}

TEST(GraphJson, RefusesWhatIsNotUtf8) {
  EXPECT_THAT(why_not(with("\"name\": \"t\"", "\"name\": \"\xff\"")), HasSubstr("UTF-8"));
}

TEST(GraphJson, PassesOnWhatTheGraphBuilderFinds) {
  EXPECT_THAT(why_not(with("\"inputs\": []", "\"inputs\": [0]")),
              AllOf(HasSubstr("g.json: "), HasSubstr("cycle")));
  EXPECT_THAT(why_not(with("\"inputs\": []", "\"inputs\": [4294967294]")),
              HasSubstr("unknown tensor 4294967294"));
  EXPECT_THAT(why_not(with("\"inputs\": []", "\"inputs\": [4294967295]")), HasSubstr("index below 2^32 - 1"));
}

TEST(GraphFiles, RefusesFoldersAndMissingFiles) {
  const ScratchFolder folder;
  EXPECT_THAT(read_graph(folder.path()).error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(read_graph(folder.path() / "none.json").error().message, HasSubstr("No such file"));
}

TEST(GraphFiles, RefusesAnEndlessFile) {
  EXPECT_THAT(read_graph("/dev/zero").error().message, HasSubstr("larger than 1.0 GiB"));
}

TEST(WriteFile, ReplacesTheFileAndLeavesNothingElse) {
  const ScratchFolder folder;
  const std::string path = folder.file("g.json", "old");
  ASSERT_TRUE(write_file(path, "new"));
  EXPECT_EQ(testing::read_text(path), "new");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteFile, KeepsModesAndLinks) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("g.json", "old");
  std::filesystem::permissions(file,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("g.json", folder.path() / "link.json");
  ASSERT_TRUE(write_file(folder.path() / "link.json", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.json"));
  EXPECT_EQ(testing::read_text(file), "new");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(folder.entries(), 2U);
  EXPECT_TRUE(write_file(folder.path() / std::string(250, 'x'), "long"));
}

TEST(WriteFile, LeavesTheOldFileWhenItFails) {
  const ScratchFolder folder;
  EXPECT_THAT(write_file(folder.path() / "no" / "such" / "folder", "x").error().message,
              HasSubstr("No such file"));
  EXPECT_THAT(write_file(folder.path(), "x").error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(write_file("/dev/full", "x").error().message, HasSubstr("No space left"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(GraphToDot, EscapesNamesAndDrawsEachUse) {
  GraphBuilder b("a \"graph\"");
  const TensorId x =
      b.add_op_with_output({.name = "x\"];evil[", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{2048});
  b.add_op_with_output(
      {.name = "y", .cost = Cost{1}, .inputs = {x}, .outputs = {}, .phase = Phase::kBackward}, Bytes{1});
  const std::string dot = graph_to_dot(std::move(b).build().value());
  EXPECT_THAT(dot, HasSubstr("digraph \"a \\\"graph\\\"\""));
  EXPECT_THAT(dot, HasSubstr("0 [label=\"x\\\"];evil[\""));
  EXPECT_THAT(dot, HasSubstr("0 -> 1 [label=\"2.0 KiB\"]"));
}

}  // namespace
}  // namespace checkmate
