#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ReportVerb, WritesAReport) {
  const ScratchFolder folder;
  const std::string page = (folder.path() / "report.html").string();
  const std::string plan = (folder.path() / "plan.json").string();
  const Finished searched = checkmate({"report", "zoo:linear?n=8", "--budget", "60%", "-o", page, "--methods",
                                       "chen-sqrt,auto", "--budgets", "100%..60%:20%"});
  EXPECT_EQ(searched.exit_code, 0) << searched.err;
  EXPECT_THAT(searched.out, StartsWith(page + ": "));
  EXPECT_THAT(read_text(page), AllOf(StartsWith("<!doctype html>"), HasSubstr("\"chen-sqrt\"")));

  ASSERT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "60%", "--plan", plan}).exit_code, 0);
  const Finished shown =
      checkmate({"report", "zoo:linear?n=8", "--plan", plan, "-o", "-", "--methods", "none"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(StartsWith("<!doctype html>"), HasSubstr("\"tradeoff\":null")));
  const Finished keep_all = checkmate({"report", "zoo:linear?n=8", "-o", "-", "--methods", "none"});
  EXPECT_THAT(keep_all.out, HasSubstr("\"method\":\"keep-all\""));
  EXPECT_EQ(folder.entries(), 2U);
}

TEST(ReportVerb, WritesAReportOfWhatThereIsOnCtrlC) {
  // Annealing with a gap of 0 never has enough.
  const Finished run = interrupted(
      5, {"report", "zoo:unet?batch=32", "--budget", "60%", "--method", "linear-greedy", "--methods",
          "linear-greedy,anneal", "--budgets", "80%,60%", "--gap", "0", "--point-time", "200", "-o", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "checkmate: stopped at search 3 of 4\n");
  EXPECT_THAT(run.out, AllOf(StartsWith("<!doctype html>"), HasSubstr("{\"method\":\"anneal\"")));
}

TEST(ReportVerb, WritesNoReportOfWhatDoesNotHold) {
  const ScratchFolder folder;
  const std::string page = (folder.path() / "report.html").string();
  const std::string plan = (folder.path() / "plan.json").string();
  const Finished tight = checkmate({"report", "zoo:linear?n=8", "--budget", "1", "-o", page});
  EXPECT_EQ(tight.exit_code, 2) << tight.err;
  EXPECT_THAT(tight.err, AllOf(HasSubstr("no plan fits 1 B"), HasSubstr("no report was written")));
  const Finished none =
      checkmate({"report", "zoo:linear?n=8", "--budget", "60%", "--method", "keep-all", "-o", page});
  EXPECT_EQ(none.exit_code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("no plan was found within"));

  ASSERT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "60%", "--plan", plan}).exit_code, 0);
  EXPECT_THAT(complaint({"report", "zoo:linear?n=9", "--plan", plan, "-o", page}),
              HasSubstr("another graph"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--plan", plan, "--budget", "60%", "-o", page}),
              HasSubstr("not both"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--methods", "magic", "-o", page}), HasSubstr("magic"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--point-time", "0", "-o", page}),
              HasSubstr("--point-time"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--methods", "none", "-o",
                         (folder.path() / "missing" / "report.html").string()}),
              HasSubstr("missing"));
  EXPECT_EQ(folder.entries(), 1U);  // the plan
}

}  // namespace
}  // namespace checkmate::testing
