#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ReproduceVerb, ReproducesAnExperiment) {
  const ScratchFolder folder;
  const Finished run =
      checkmate({"reproduce", "integrality-gap", "--time-limit", "1", "-o", folder.path().string()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("| unpartitioned"));
  EXPECT_EQ(folder.entries(), 2U);  // CSV and Markdown
  // Where nothing was solved, there is no optimum and no ratio.
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("at most 0")));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("| 0.000 |  |")));
  EXPECT_THAT(complaint({"reproduce", "everything"}), HasSubstr("integrality-gap"));
  EXPECT_THAT(complaint({"reproduce", "integrality-gap", "--time-limit", "-1"}), HasSubstr("positive"));
  EXPECT_THAT(complaint({"reproduce", "overhead", "--graphs", folder.path().string()}),
              HasSubstr("_train_nx.json' is missing; docs/public_graphs.md says where"));
  folder.file("VGG16 (MLSys)_256_(224, 224, 3)_train_nx.json", "{}");
  EXPECT_THAT(complaint({"reproduce", "overhead", "--graphs", folder.path().string()}),
              HasSubstr("_train_nx.json' is not the file that was published: its SHA-256 differs"));
}

TEST(ReproduceVerb, ReproducesTheFigures) {
  const ScratchFolder folder;
  const Finished run = checkmate({"reproduce", "stage-map", "--time-limit", "20", "-o",
                                  folder.path().string(), "--figure-format", "pdf"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("| keep-all | 65 |"));
  EXPECT_THAT(read_text(folder.path() / "stage_map.pdf"), StartsWith("%PDF"));
  EXPECT_THAT(complaint({"reproduce", "stage-map", "--figure-format", "gif"}), HasSubstr("gif"));
}

}  // namespace
}  // namespace checkmate::testing
