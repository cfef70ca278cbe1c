#include "core/guarded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace checkmate {
namespace {

using ::testing::HasSubstr;

template <class Exception>
Error caught(const Exception& exception) {
  return guarded([&]() -> Result<int> { throw exception; }).error();
}

TEST(Guarded, PassesOnWhatIsReturned) {
  EXPECT_EQ(guarded([] { return Result<int>(3); }).value(), 3);
  EXPECT_EQ(guarded([] { return Result<int>(Error{ErrorCode::kIo, "no"}); }).error().message, "no");
}

TEST(Guarded, MakesErrorsOfExceptions) {
  EXPECT_EQ(caught(std::logic_error("a < b")).code, ErrorCode::kInternal);
  EXPECT_THAT(caught(std::logic_error("a < b")).message, HasSubstr("a < b"));
  EXPECT_EQ(caught(std::bad_alloc()).code, ErrorCode::kTooLarge);
  EXPECT_THAT(caught(std::bad_alloc()).message, HasSubstr("memory"));
  EXPECT_EQ(caught(std::system_error(EAGAIN, std::generic_category())).code, ErrorCode::kIo);
  EXPECT_EQ(caught(std::overflow_error("2^63")).code, ErrorCode::kTooLarge);
  EXPECT_EQ(caught(7).code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace checkmate
