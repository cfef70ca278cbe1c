#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LeastBudgetVerb, PrintsBothFiguresAndWritesThePlan) {
  const ScratchFolder folder;
  const std::string plan = (folder.path() / "plan.json").string();
  const Finished run = checkmate({"least-budget", "zoo:vgg19?batch=256", "--plan", plan, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // 1149337920 fixed and 13153337344 for the largest op
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"needed_bytes\": 14302675264"),
                             HasSubstr("\"sufficient_bytes\": 14302675264"), HasSubstr("\"exact\": true"),
                             HasSubstr("block1_conv1_grad")));
  EXPECT_EQ(checkmate({"validate", "zoo:vgg19?batch=256", plan}).exit_code, 0);
  EXPECT_THAT(checkmate({"least-budget", "zoo:vgg19?batch=256"}).out,
              AllOf(HasSubstr("14,302,675,264 bytes"), HasSubstr("this is the least budget")));
  EXPECT_THAT(complaint({"least-budget", "zoo:vgg19", "--gap", "-1"}), HasSubstr("gap"));
  EXPECT_THAT(complaint({"least-budget", "zoo:vgg19", "--order", "any"}), HasSubstr("--order"));
}

TEST(SolveVerb, RefusesABudgetWithBothFigures) {
  const Finished run = checkmate({"solve", "zoo:vgg19?batch=256", "--budget", "60%"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("needed"), HasSubstr("sufficient"), HasSubstr("checkmate least-budget")));
}

}  // namespace
}  // namespace checkmate::testing
