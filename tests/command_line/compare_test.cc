#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CompareVerb, ComparesMethodsInOneTable) {
  const Finished run = checkmate(
      {"compare", "zoo:unet?batch=32", "--budget", "60%", "--methods", "keep-all,linear-greedy,chen-sqrt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("does not fit"), HasSubstr("linear-greedy"), HasSubstr("not a chain")));
  const Finished all =
      checkmate({"compare", "zoo:linear?n=6", "--budget", "80%", "--moves", "1000", "--json"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("\"results\": ["), HasSubstr("milp"), HasSubstr("lp-round"),
                             HasSubstr("griewank")));
  EXPECT_THAT(complaint({"compare", "zoo:unet", "--budget", "60%", "--methods", "keep-all,magic"}),
              HasSubstr("'magic'"));
}

TEST(CompareVerb, ShowsGapsAgainstTheBestBoundOfTheTable) {
  const std::vector<std::string> compared = {"compare", "zoo:linear?n=8", "--budget",
                                             "60%",     "--methods",      "linear-greedy,auto"};
  std::vector<std::string> json = compared;
  json.emplace_back("--json");
  const std::string both = checkmate(json).out;
  const auto bound_after = [&](std::size_t from) {
    const std::size_t at = both.find("\"lower_bound\": ", from);
    return both.substr(at, both.find(',', at) - at);
  };
  EXPECT_EQ(bound_after(0), bound_after(both.find("\"lower_bound\": ") + 1)) << both;
}

}  // namespace
}  // namespace checkmate::testing
