#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PlotVerb, DrawsPlans) {
  const ScratchFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  EXPECT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "8", "--plan", file("plan.json")}).exit_code,
            0);
  for (const char* kind : {"timeline", "map"}) {
    const Finished drawn =
        checkmate({"plot", kind, "zoo:linear?n=8", "--plan", file("plan.json"), "-o", file("a.svg")});
    EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
    EXPECT_THAT(read_text(file("a.svg")), HasSubstr("linear?n=8"));
    EXPECT_EQ(checkmate({"plot", kind, "zoo:linear?n=8", "--budget", "8", "-o", file("b.png")}).exit_code, 0);
    EXPECT_THAT(read_text(file("b.png")), StartsWith("\x89PNG"));
    EXPECT_THAT(
        complaint({"plot", kind, "zoo:linear?n=9", "--plan", file("plan.json"), "-o", file("no.svg")}),
        HasSubstr("another graph"));
    EXPECT_THAT(complaint({"plot", kind, "zoo:linear?n=8", "-o", file("no.svg")}),
                HasSubstr("--plan, or a --budget"));
    const Finished infeasible =
        checkmate({"plot", kind, "zoo:linear?n=8", "--budget", "1", "-o", file("no.svg")});
    EXPECT_EQ(infeasible.exit_code, 2);
    EXPECT_THAT(infeasible.err, HasSubstr("no plan to draw"));
  }
  EXPECT_FALSE(std::filesystem::exists(file("no.svg")));
}

TEST(PlotVerb, DrawsTradeoffsAndBatches) {
  const ScratchFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  const std::vector<std::string> chosen = {"zoo:linear?n=12", "--budgets", "90%..40%", "--methods",
                                           "chen-greedy,chain-dp"};
  const auto with = [](std::vector<std::string> all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(checkmate(with(with({"sweep"}, chosen), {"-o", file("s.csv")})).exit_code, 0);
  EXPECT_EQ(checkmate(with(with({"plot", "tradeoff"}, chosen), {"-o", file("a.svg"), "--title", "A title"}))
                .exit_code,
            0);
  EXPECT_EQ(
      checkmate({"plot", "tradeoff", "--from", file("s.csv"), "-o", file("b.svg"), "--title", "A title"})
          .exit_code,
      0);
  EXPECT_EQ(read_text(file("a.svg")), read_text(file("b.svg")));
  EXPECT_THAT(complaint({"plot", "tradeoff", "-o", file("no.svg")}), HasSubstr("give one graph"));
  EXPECT_THAT(
      complaint({"plot", "tradeoff", "--from", folder.file("x.csv", "a,b\n1,2\n"), "-o", file("no.svg")}),
      HasSubstr("no column"));

  const Finished bars = checkmate({"plot", "max-batch", "zoo:vgg19", "--memory", "16GB", "--methods",
                                   "keep-all,linear-greedy", "-o", file("c.svg")});
  EXPECT_EQ(bars.exit_code, 0) << bars.err;
  EXPECT_THAT(read_text(file("c.svg")), HasSubstr("vgg19, keep-all: 222."));
  const std::string table = folder.file("b.csv", "network,method,batch\nvgg19,keep-all,222\n");
  EXPECT_EQ(checkmate({"plot", "max-batch", "--from", table, "-o", file("d.pdf")}).exit_code, 0);
  EXPECT_THAT(complaint({"plot", "max-batch", "zoo:vgg19", "-o", file("no.svg")}), HasSubstr("--memory"));
  EXPECT_THAT(complaint({"plot", "max-batch", "zoo:vgg19?batch=2", "--memory", "1GB", "-o", file("no.svg")}),
              HasSubstr("omit batch="));
  EXPECT_FALSE(std::filesystem::exists(file("no.svg")));
}

TEST(PlotVerb, RefusesPicturesThatItCannotWrite) {
  const ScratchFolder folder;
  const auto refusal = [](const std::string& output) {
    return complaint({"plot", "timeline", "zoo:linear?n=8", "--budget", "8", "-o", output});
  };
  EXPECT_THAT(refusal("picture.gif"), HasSubstr(".svg, .png or .pdf"));
  EXPECT_THAT(refusal("-"), HasSubstr(".svg, .png or .pdf"));
  EXPECT_THAT(refusal((folder.path() / "no" / "where.svg").string()), HasSubstr("there is no folder"));
  EXPECT_THAT(complaint({"plot"}), HasSubstr("checkmate plot --help"));
  EXPECT_THAT(complaint({"plot", "pie"}), HasSubstr("checkmate plot --help"));
  EXPECT_THAT(complaint({"plot", "timeline", "zoo:linear?n=8", "--budget", "8", "--width", "1", "-o",
                         (folder.path() / "a.svg").string()}),
              HasSubstr("240 to 4000"));
  EXPECT_EQ(folder.entries(), 0U);
}

}  // namespace
}  // namespace checkmate::testing
