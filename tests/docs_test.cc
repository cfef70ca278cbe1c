#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "checkmate/cost_model.h"
#include "checkmate/io.h"
#include "checkmate/simulate.h"
#include "support/program.h"

// What README and docs show is run: ```sh blocks line by line, ```cpp blocks are files of examples/, ```json
// blocks are files of ours.

namespace checkmate {
namespace {

using ::testing::Contains;
using testing::read_text;

std::filesystem::path source() { return CHECKMATE_SOURCE_DIR; }

std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> pages = {source() / "README.md", source() / "CONTRIBUTING.md"};
  for (const auto& entry : std::filesystem::directory_iterator(source() / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

/// The fenced blocks of a language, without their fences.
std::vector<std::string> blocks(const std::filesystem::path& page, const std::string& language) {
  std::vector<std::string> found;
  std::istringstream lines(read_text(page));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```" + language;
      if (inside) found.emplace_back();
    } else if (inside) {
      found.back() += line + "\n";
    }
  }
  return found;
}

TEST(Docs, ShowCommandsThatRun) {
  const testing::ScratchFolder folder;
  const std::string bin = std::filesystem::path(CHECKMATE_PROGRAM).parent_path().string();
  std::size_t commands = 0;
  for (const auto& page : pages()) {
    for (const std::string& block : blocks(page, "sh")) {
      const std::string script =
          fmt::format("cd '{}'\nPATH='{}':$PATH\n{}", folder.path().string(), bin, block);
      const testing::Finished run = testing::run({"bash", "-ec", script});
      EXPECT_EQ(run.exit_code, 0) << page << "\n" << block << run.err;
      ++commands;
    }
  }
  EXPECT_GT(commands, 0U);
}

TEST(Docs, ShowCodeThatIsCompiled) {
  std::vector<std::string> examples;
  for (const auto& entry : std::filesystem::directory_iterator(source() / "examples")) {
    if (entry.path().extension() == ".cc") examples.push_back(read_text(entry.path()));
  }
  for (const auto& page : pages()) {
    for (const std::string& block : blocks(page, "cpp")) EXPECT_THAT(examples, Contains(block)) << page;
  }
  EXPECT_FALSE(blocks(source() / "README.md", "cpp").empty());
}

TEST(Docs, ShowFilesThatAreRead) {
  const std::vector<std::string> files = blocks(source() / "docs" / "file_formats.md", "json");
  ASSERT_EQ(files.size(), 3U);  // a graph, a plan of it, and times for it
  const Result<Graph> graph = parse_graph(files[0]);
  ASSERT_TRUE(graph) << graph.error().message;
  const Result<PlanRecord> plan = parse_plan(files[1], *graph);
  ASSERT_TRUE(plan) << plan.error().message;
  const Simulation run = simulate(*graph, plan->plan).value();
  EXPECT_EQ(run.cost, plan->cost);
  EXPECT_EQ(run.peak, plan->peak);
  const testing::ScratchFolder folder;
  const std::string profile = folder.file("profile.json", files[2]);
  const Result<Graph> timed = with_cost_model(*graph, "profile:" + profile + "?batch=8");
  ASSERT_TRUE(timed) << timed.error().message;
  EXPECT_EQ(timed->keep_all_cost(), Cost{6100 + 5340});  // matmul as measured, loss at 5200 + 20 x (8 - 1)
}

TEST(Docs, HaveTheReferenceThatTheProgramPrints) {
  const std::string page = read_text(source() / "docs" / "command_line.md");
  const std::string begin = "<!-- reference: scripts/write_reference.sh -->\n\n";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const testing::Finished printed = testing::run({CHECKMATE_PROGRAM, "reference"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_EQ(page.substr(at + begin.size()), printed.out) << "run scripts/write_reference.sh";
}

TEST(Docs, LinkToFilesThatAreThere) {
  for (const auto& page : pages()) {
    const std::string text = read_text(page);
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      EXPECT_TRUE(std::filesystem::exists(page.parent_path() / target)) << page << " links to " << target;
    }
  }
}

}  // namespace
}  // namespace checkmate
