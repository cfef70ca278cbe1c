#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;

TEST(CompletionVerb, KnowsTheOptionsOfEveryVerb) {
  const std::string script = checkmate({"completion"}).out;
  for (const char* verb : kVerbs)
    EXPECT_THAT(script, HasSubstr(std::string(verb) + ") words=\"--help")) << verb;
}

}  // namespace
}  // namespace checkmate::testing
