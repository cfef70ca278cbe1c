#include "support/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace checkmate::testing {

using ::testing::IsEmpty;
using ::testing::StartsWith;

Finished checkmate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), CHECKMATE_PROGRAM);
  return run(arguments);
}

Finished interrupted(int seconds, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"timeout", "--foreground", "--preserve-status", "-s", "INT",
                                       std::to_string(seconds), CHECKMATE_PROGRAM});
  return run(arguments);
}

std::string complaint(const std::vector<std::string>& arguments) {
  const Finished run = checkmate(arguments);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, StartsWith("checkmate: "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  return run.err;
}

}  // namespace checkmate::testing
