#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(BoundVerb, SaysWhatItHoldsFor) {
  const Finished run = checkmate({"bound", "zoo:linear?n=8", "--budget", "8", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"lower_bound\": 19"), HasSubstr("\"kind\": \"stage\"")));
  EXPECT_THAT(checkmate({"bound", "zoo:linear?n=8", "--budget", "8", "--method", "brute", "--json"}).out,
              HasSubstr("\"kind\": \"order\""));
  EXPECT_EQ(checkmate({"bound", "zoo:linear?n=8", "--budget", "3"}).exit_code, 2);
}

}  // namespace
}  // namespace checkmate::testing
