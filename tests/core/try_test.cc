#include "core/try.h"

#include <gtest/gtest.h>

#include <memory>

#include "checkmate/result.h"

namespace checkmate {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalidArgument, std::to_string(number) + " is odd"};
  return number / 2;
}

Result<void> even(int number) {
  CHECKMATE_TRY(half(number));
  return {};
}

Result<int> quarter(int number) {
  CHECKMATE_TRY(const int once, half(number));
  CHECKMATE_TRY(const int twice, half(once));
  return twice;
}

Result<std::unique_ptr<int>> boxed(int number) {
  CHECKMATE_TRY(even(number));
  return std::make_unique<int>(number);
}

Result<int> unboxed(int number) {
  CHECKMATE_TRY(const std::unique_ptr<int> box, boxed(number));  // moved, not copied
  return *box;
}

TEST(Try, DeclaresTheValue) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(*unboxed(4), 4);
}

TEST(Try, ReturnsTheFirstError) {
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(quarter(6).error().code, ErrorCode::kInvalidArgument);
}

TEST(Try, TakesAResultWithoutAValue) {
  EXPECT_TRUE(even(2));
  EXPECT_EQ(even(3).error().message, "3 is odd");
  EXPECT_EQ(unboxed(5).error().message, "5 is odd");
}

std::pair<int, int> both(int a, int b) { return {a, b}; }

Result<int> sum(int a, int b) {
  CHECKMATE_TRY(const int total, half(both(a, b).first + both(a, b).second));  // commas in the expression
  return total;
}

TEST(Try, TakesAnExpressionWithCommas) { EXPECT_EQ(*sum(1, 3), 2); }

}  // namespace
}  // namespace checkmate
