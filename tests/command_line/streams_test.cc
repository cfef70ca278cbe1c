#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "checkmate/checkmate.h"
#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The program with its streams as a shell line has them.
Finished in_shell(const std::string& rest) {
  return run({"sh", "-c", std::string(CHECKMATE_PROGRAM) + " " + rest});
}

TEST(Streams, ErrorsKeepTheirExitCodeWhereNobodyReadsThem) {
  for (const char* where : {"2>&-", "2>/dev/full"}) {
    EXPECT_EQ(in_shell(std::string("info nosuch.json ") + where).exit_code, 1) << where;
    EXPECT_EQ(in_shell(std::string("frobnicate ") + where).exit_code, 1) << where;
    EXPECT_EQ(in_shell(std::string("bound zoo:linear?n=8 --budget 1 ") + where).exit_code, 2) << where;
    EXPECT_EQ(in_shell(std::string("info nosuch.json >&- ") + where).exit_code, 1) << where;
  }
}

TEST(Streams, OutputThatCannotBeWrittenIsAnError) {
  for (const char* where : {">&-", ">/dev/full"}) {
    for (const char* what : {"info zoo:unet", "zoo", "solve zoo:linear?n=4 --budget 100% --json",
                             "sweep zoo:linear?n=4 --methods keep-all", "convert zoo:unet", "--help"}) {
      const Finished run = in_shell(fmt::format("{} {}", what, where));
      EXPECT_EQ(run.exit_code, 1) << what << where;
      EXPECT_THAT(run.err, AllOf(HasSubstr("checkmate: cannot write the output"), Not(HasSubstr("bug"))))
          << what << where;
    }
  }
}

TEST(Streams, AFileDoesNotGetTheOutputOfAClosedStream) {
  const ScratchFolder folder;
  const std::string plan = (folder.path() / "plan.json").string();
  EXPECT_EQ(in_shell("solve zoo:linear?n=4 --budget 100% --plan " + plan + " >&- 2>&-").exit_code, 1);
  EXPECT_TRUE(read_plan(plan, load_graph("zoo:linear?n=4").value()));
}

/// In UTF-8; written out here, it would turn the text of this file.
std::string character(unsigned code) {
  std::string bytes;
  if (code >= 0x800) bytes += static_cast<char>(0xE0U | code >> 12);
  bytes += static_cast<char>(code >= 0x800 ? 0x80U | (code >> 6 & 0x3FU) : 0xC0U | code >> 6);
  return bytes + static_cast<char>(0x80U | (code & 0x3FU));
}

TEST(Streams, NothingThatIsPrintedTurnsTheTextOfATerminal) {
  const ScratchFolder folder;
  constexpr std::array kActive = {0x202EU, 0x2067U, 0x061CU, 0x200FU, 0x009BU};
  std::string name = "a";
  for (const unsigned code : kActive) name += character(code) + "b";
  GraphBuilder b(name, name);
  const TensorId x =
      b.add_op_with_output({.name = name, .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{1});
  b.add_op_with_output({.name = name, .cost = Cost{1}, .inputs = {x}, .outputs = {}}, Bytes{1});
  const std::string graph = folder.file("graph.json", graph_to_json(std::move(b).build().value()));
  const std::string plan = (folder.path() / "plan.json").string();
  ASSERT_EQ(checkmate({"solve", graph, "--budget", "100%", "--plan", plan}).exit_code, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"info", graph},
      {"info", graph, "--json"},
      {"info", name},
      {"info", graph, "--costs", name},
      {"info", graph, "--" + name},
      {"solve", graph, "--budget", "100%"},
      {"solve", graph, "--budget", "100%", "--explain"},
      {"solve", graph, "--budget", "100%", "--explain", "--json"},
      {"solve", graph, "--budget", name},
      {"solve", graph, "--budget", "1", "--json"},
      {"compare", graph, "--budget", "100%", "--json"},
      {"sweep", graph, "--methods", "keep-all"},
      {"sweep", graph, "--methods", "keep-all", "--json"},
      {"simulate", graph, "--plan", plan},
      {"simulate", graph, "--plan", plan, "--json"},
      {"validate", graph, "--plan", plan, "--budget", "1"},
      {"convert", graph, "-o", (folder.path() / name).string()},
  };
  for (const std::vector<std::string>& command : commands) {
    const Finished run = checkmate(command);
    for (const unsigned code : kActive) {
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(character(code)))) << command[0] << " " << command.back();
    }
  }
  EXPECT_THAT(checkmate({"info", graph}).out, HasSubstr("a\\u202eb\\u2067b\\u061cb\\u200fb\\u009bb"));
  // To a pipe, a graph is what a file would hold; on a terminal it is JSON with the same meaning.
  EXPECT_THAT(checkmate({"convert", graph}).out, HasSubstr(name));
  EXPECT_THAT(run_on_terminal({CHECKMATE_PROGRAM, "convert", graph}, 80).out,
              AllOf(Not(HasSubstr(character(0x202E))), HasSubstr("a\\u202eb")));
}

}  // namespace
}  // namespace checkmate::testing
