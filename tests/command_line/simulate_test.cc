#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/command_line.h"
#include "support/graphs.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SimulateVerb, TellsPeakAndCostOfAPlan) {
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.json", graph_to_json(diamond()));
  const std::string plan =
      folder.file("plan.json", R"({"format": "checkmate.plan", "version": 1, "steps": [0, 1, 0, 2, 3]})");
  const Finished run = checkmate({"simulate", graph, "--plan", plan, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // x twice, a, b and y: 1 + 2 + 1 + 3 + 4 = 11. While b runs, x, a and b are there: 3 x 10 bytes.
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"cost\": 11"), HasSubstr("\"peak_bytes\": 30")));
}

TEST(SimulateVerb, SaysAtWhichStepAPlanCannotRun) {
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.json", graph_to_json(diamond()));
  const std::string plan =
      folder.file("plan.json", R"({"format": "checkmate.plan", "version": 1, "steps": [1, 0, 2, 3]})");
  EXPECT_THAT(complaint({"simulate", graph, "--plan", plan}), HasSubstr("step 0"));
}

}  // namespace
}  // namespace checkmate::testing
