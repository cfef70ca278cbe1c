#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/command_line.h"
#include "support/graphs.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ValidateVerb, FindsFalseClaims) {
  const ScratchFolder folder;
  const std::string plan = folder.file(
      "plan.json",
      R"({"format": "checkmate.plan", "version": 1, "cost": 1, "peak_bytes": 2, "lower_bound": 99, "steps": [0, 1, 2, 3]})");
  const std::string graph = folder.file("graph.json", graph_to_json(diamond()));
  const Finished run = checkmate({"validate", graph, "--plan", plan});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("says cost 1, but it is 10"), HasSubstr("says peak_bytes 2, but it is 30"),
                    HasSubstr("lower_bound 99, which is above the cost 10")));
  EXPECT_THAT(run.err, HasSubstr("3 violations"));
}

}  // namespace
}  // namespace checkmate::testing
