#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;

TEST(SweepVerb, SweepsBudgetsAsCsvAndJson) {
  const Finished run =
      checkmate({"sweep", "zoo:linear?n=12", "--budgets", "90%..40%", "--methods", "chen-greedy,lp-round"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'),
            1 + 2 * 6);  // a header, then two methods at six budgets
  EXPECT_THAT(checkmate({"sweep", "zoo:linear?n=12", "--methods", "keep-all", "--json"}).out,
              HasSubstr("\"points\": ["));
  for (const char* budgets : {"90%..", "..", "20%..110%", "90%..20%:0%", "60%,", "a..b"}) {
    EXPECT_EQ(checkmate({"sweep", "zoo:linear?n=12", "--budgets", budgets}).exit_code, 1) << budgets;
  }
}

TEST(SweepVerb, SaysThatItWasStopped) {
  const Finished run = interrupted(2, {"sweep", "zoo:unet?batch=32", "--methods", "anneal", "--budgets",
                                       "60%,80%", "--gap", "0", "--time-limit", "200"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "checkmate: stopped at search 1 of 2\n");
}

TEST(SweepVerb, WritesNothingWhereItIsStoppedBeforeItsFirstPlan) {
  const ScratchFolder folder;
  const std::string table = (folder.path() / "table.csv").string();
  // A Ctrl-C that is waiting when the program starts, and a search that has no plan for a long time.
  constexpr const char* kInterruptedAtOnce =
      "import os, signal, sys\n"
      "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"
      "os.kill(os.getpid(), signal.SIGINT)\n"
      "os.execv(sys.argv[1], sys.argv[1:])";
  const Finished run = testing::run({CHECKMATE_PYTHON, "-c", kInterruptedAtOnce, CHECKMATE_PROGRAM, "sweep",
                                     "zoo:unet?batch=32", "--methods", "lp-bound", "--budgets", "60%,70%",
                                     "--time-limit", "200", "-o", table});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, ::testing::IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("no plan yet, so nothing was written"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(SweepVerb, ShowsGapsAgainstTheBestBoundOfTheTable) {
  const Finished run =
      checkmate({"sweep", "zoo:linear?n=8", "--budgets", "60%", "--methods", "linear-greedy,auto", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              ::testing::Not(HasSubstr("\"lower_bound\": 17,")));  // each op once, all that the first proves
}

}  // namespace
}  // namespace checkmate::testing
