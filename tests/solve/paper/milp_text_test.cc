#include "checkmate/milp_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MilpText, WritesTheProgramInBothFormats) {
  const SolveOptions options{.budget = Bytes{30}};
  EXPECT_THAT(milp_text(testing::diamond(), options, "mps").value(),
              AllOf(HasSubstr("ROWS"), HasSubstr("COLUMNS"), HasSubstr("R_3_0")));
  EXPECT_THAT(milp_text(testing::diamond(), options, "lp").value(),
              AllOf(HasSubstr("min"), HasSubstr("R_3_0")));
}

TEST(MilpText, HasColumnsAboveTheDiagonalOnlyWhereStagesAreFree) {
  SolveOptions options{.budget = Bytes{30}};
  EXPECT_THAT(milp_text(testing::diamond(), options, "lp").value(), Not(HasSubstr("R_0_3")));
  options.order = Order::kFree;
  options.free_stages = true;
  EXPECT_THAT(milp_text(testing::diamond(), options, "lp").value(), HasSubstr("R_0_3"));
}

TEST(MilpText, RefusesOtherFormatsAndGraphsThatAreTooLarge) {
  const SolveOptions options{.budget = Bytes{30}};
  EXPECT_FALSE(milp_text(testing::diamond(), options, "png"));
  EXPECT_EQ(milp_text(testing::chain(20'000), options, "lp").error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace checkmate
