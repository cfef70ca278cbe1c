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

}  // namespace
}  // namespace checkmate::testing
