#include "checkmate/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::HasSubstr;

TEST(ParseBudget, TakesBytesForEverything) {
  EXPECT_EQ(*parse_budget(testing::diamond(), "1KiB"), Bytes{1024});
}

TEST(ParseBudget, AddsTheFixedBytesToAShareOfThePeakWithoutThem) {
  const Graph graph = testing::full_featured();  // fixed 1100, keep-all peak 107 beside it
  EXPECT_EQ(*parse_budget(graph, "100%"), Bytes{1207});
  EXPECT_EQ(*parse_budget(graph, "50%"), Bytes{1153});    // 1100 + 53.5, rounded down
  EXPECT_EQ(*parse_budget(graph, "12.5%"), Bytes{1113});  // 1100 + 13.375
}

TEST(ParseBudget, RefusesNonsenseWithARemedy) {
  for (const char* text : {"0", "-1", "5 potatoes", "200%", "0%", "-5%", "%", "100.0001%", "1e1%", "50%%",
                           "5 0%", "99999999999999999999%"}) {
    const Result<Bytes> budget = parse_budget(testing::diamond(), text);
    ASSERT_FALSE(budget) << text;
    EXPECT_THAT(budget.error().message, AllOf(HasSubstr("budget"), HasSubstr(text)));
  }
}

TEST(ParseBudget, RefusesAShareOfLessThanAByte) {
  EXPECT_THAT(parse_budget(testing::diamond(), "1%").error().message,
              HasSubstr("less than one byte"));  // 0.3 bytes
}

TEST(Budget, MayBeNothingForAGraphThatNeedsNothing) {
  GraphBuilder builder("of 0 bytes");
  builder.add_op_with_output({.name = "f", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{0});
  const Graph nothing = std::move(builder).build().value();
  for (const char* text : {"0", "0B", "1%", "100%"})
    EXPECT_EQ(parse_budget(nothing, text).value(), Bytes{0}) << text;
  EXPECT_EQ(parse_budgets(nothing, "90%..20%").value(), std::vector{Bytes{0}});
  EXPECT_FALSE(parse_budget(testing::diamond(), "0"));
  EXPECT_FALSE(Budget::of(Bytes{-1}));
}

}  // namespace
}  // namespace checkmate
