#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(BoundVerb, TakesTheBestBoundForEveryPlanByDefault) {
  const std::vector<std::string> unet = {"bound", "zoo:unet?batch=32", "--budget", "60%", "--json"};
  const Finished best = checkmate(unet);
  std::vector<std::string> relaxed = unet;
  relaxed.insert(relaxed.end(), {"--method", "lp-bound", "--time-limit", "5"});
  const auto overhead_of = [](const Finished& run) {
    return std::stod(run.out.substr(run.out.find("\"overhead\": ") + 12));
  };
  EXPECT_THAT(best.out, HasSubstr("\"kind\": \"order\""));
  EXPECT_GT(overhead_of(best), overhead_of(checkmate(relaxed)));
}

TEST(BoundVerb, SaysWhatItHoldsFor) {
  const Finished run =
      checkmate({"bound", "zoo:linear?n=8", "--budget", "8", "--method", "lp-bound", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"lower_bound\": 19"), HasSubstr("\"kind\": \"stage\"")));
  EXPECT_THAT(checkmate({"bound", "zoo:linear?n=8", "--budget", "8", "--method", "brute", "--json"}).out,
              HasSubstr("\"kind\": \"order\""));
  EXPECT_EQ(checkmate({"bound", "zoo:linear?n=8", "--budget", "3"}).exit_code, 2);
}

}  // namespace
}  // namespace checkmate::testing
