#include "core/decimal.h"

#include <gtest/gtest.h>

namespace checkmate {
namespace {

TEST(Decimal, ReadsTheNumberAtTheStartOfAText) {
  const Decimal number = Decimal::read_prefix("12.5GiB");
  EXPECT_EQ(number.length, 4U);
  EXPECT_EQ(number.digits, 125);  // 125 / 10
  EXPECT_EQ(number.scale, 10);
  EXPECT_TRUE(number.fractional());
  EXPECT_FALSE(Decimal::read_prefix("3.00").fractional());
  EXPECT_EQ(Decimal::read_prefix("1.2.3").length, 3U);  // one point at most
  EXPECT_EQ(Decimal::read_prefix(".5").digits, 5);
  EXPECT_EQ(Decimal::read_prefix("7.").length, 2U);
}

TEST(Decimal, ReadsNothingWhereThereIsNoDigit) {
  for (const char* text : {"", ".", "-1", "+1", " 1", "e5", "GiB"})
    EXPECT_EQ(Decimal::read_prefix(text).length, 0U) << text;
}

TEST(Decimal, MultipliesExactlyAndRoundsDown) {
  EXPECT_EQ(Decimal::read_prefix("0.1").times(10), 1);
  EXPECT_EQ(Decimal::read_prefix("12.5").times(107, 100), 13);  // 13.375
  // As a double, 0.1 x 3 x 10^18 would be off by 64.
  EXPECT_EQ(Decimal::read_prefix("0.1").times(3'000'000'000'000'000'010), 300'000'000'000'000'001);
}

TEST(Decimal, IgnoresDigitsBehindTheFifteenthOfAFraction) {
  const Decimal number = Decimal::read_prefix("0.1234567890123459999");
  EXPECT_EQ(number.length, 21U);
  EXPECT_EQ(number.scale, 1'000'000'000'000'000);
  EXPECT_EQ(number.digits, 123'456'789'012'345);
}

TEST(Decimal, SaysWhatIsTooLarge) {
  EXPECT_TRUE(Decimal::read_prefix("99999999999999999999").too_large);
  EXPECT_EQ(Decimal::read_prefix("99999999999999999999").times(1), std::nullopt);
  EXPECT_EQ(Decimal::read_prefix("9000000000").times(1'073'741'824), std::nullopt);  // 9e9 x 2^30 > 2^63
  EXPECT_EQ(Decimal::read_prefix("8000000000").times(1'073'741'824), 8'000'000'000 * 1'073'741'824);
}

}  // namespace
}  // namespace checkmate
