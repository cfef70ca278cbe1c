#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "checkmate/checkmate.h"
#include "support/command_line.h"
#include "support/graphs.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandLineFiles, RefusesWrongFiles) {
  const ScratchFolder folder;
  const std::string whole = graph_to_json(diamond());
  EXPECT_THAT(complaint({"info", folder.file("empty.json", "")}),
              AllOf(HasSubstr("empty.json"), HasSubstr("the file is empty")));
  EXPECT_THAT(complaint({"info", folder.file("cut.json", whole.substr(0, 100))}), HasSubstr("truncated"));
  EXPECT_THAT(complaint({"info", folder.file("deep.json", std::string(100000, '['))}),
              HasSubstr("deep.json"));
  EXPECT_THAT(complaint({"info", folder.path().string()}), HasSubstr("Is a directory"));
  EXPECT_THAT(complaint({"info", (folder.path() / "none.json").string()}), HasSubstr("No such file"));
  EXPECT_THAT(complaint({"validate", "zoo:linear?n=4", "--plan", folder.file("graph.json", whole)}),
              HasSubstr("another kind of file"));
}

TEST(CommandLineFiles, RefusesATwoGigabyteLine) {
  const ScratchFolder folder;
  const std::string path = folder.file("line.json", "{\"format\": \"");
  ASSERT_EQ(::truncate(path.c_str(), 2'000'000'000), 0);  // sparse: zeros that take no disk
  EXPECT_THAT(complaint({"info", path}), HasSubstr("larger than 1.0 GiB"));
}

TEST(CommandLineFiles, RefusesAFileWithoutPermission) {
  const ScratchFolder folder;
  const std::string path = folder.file("secret.json", "{}");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  std::vector<std::string> command = {CHECKMATE_PROGRAM, "info", path};
  if (::geteuid() == 0) {  // root may read everything, so somebody else has to try
    const std::vector<std::string> as_nobody = {"setpriv", "--reuid=65534", "--regid=65534",
                                                "--clear-groups"};
    command.insert(command.begin(), as_nobody.begin(), as_nobody.end());
  }
  const Finished run = testing::run(command);
  if (run.err.starts_with("setpriv")) GTEST_SKIP() << "only root can reach this checkout: " << run.err;
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(StartsWith("checkmate: "), HasSubstr("Permission denied")));
}

TEST(CommandLineFiles, LeavesNothingBehindWhenItCannotWrite) {
  const ScratchFolder folder;
  EXPECT_THAT(complaint({"convert", "zoo:linear?n=4", "-o", (folder.path() / "no" / "where.json").string()}),
              HasSubstr("No such file"));
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "--budget", "100%", "--plan", folder.path().string()}),
              HasSubstr("Is a directory"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(CommandLineFiles, LeavesNothingBehindWhereFilesMayNotGrow) {
  const ScratchFolder folder;
  const Finished run = testing::run({"sh", "-c",
                                     fmt::format("ulimit -f 1; {} convert zoo:resnet50 -o {}/graph.json",
                                                 CHECKMATE_PROGRAM, folder.path().string())});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err,
              AllOf(StartsWith("checkmate: "), HasSubstr("graph.json"), HasSubstr("File too large")));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(CommandLineFiles, WritesThroughALinkToAFileThatIsNotThereYet) {
  const ScratchFolder folder;
  std::filesystem::create_symlink("graph.json", folder.path() / "link.json");
  ASSERT_EQ(checkmate({"convert", "zoo:linear?n=4", "-o", (folder.path() / "link.json").string()}).exit_code,
            0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.json"));
  EXPECT_TRUE(read_graph(folder.path() / "graph.json"));
}

TEST(CommandLineFiles, LooksForThePlaceOfItsFileBeforeTheWork) {
  for (const char* verb : {"sweep", "report"}) {
    EXPECT_THAT(complaint({verb, "zoo:linear?n=4", "-o", "/no/such/file"}),
                HasSubstr("no folder '/no/such'"));
  }
  EXPECT_THAT(complaint({"plot", "tradeoff", "zoo:linear?n=4", "-o", "/no/such/file.svg"}),
              HasSubstr("no folder '/no/such'"));
  EXPECT_EQ(complaint({"report", "zoo:linear?n=4", "--method", "milp"}),
            "checkmate: --method needs a --budget to search for a plan\n");
}

}  // namespace
}  // namespace checkmate::testing
