#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MaxBatchVerb, FindsTheLargestBatch) {
  const Finished run =
      checkmate({"max-batch", "zoo:vgg19", "--memory", "16GB", "--method", "keep-all", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // (16e9 - 1149337920 fixed) / 66633728 a picture: 17058234368 / 256
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"batch\": 222"), HasSubstr("\"proven\": false"),
                             HasSubstr("\"upper_limit\": 289")));
  EXPECT_THAT(complaint({"max-batch", "zoo:vgg19?batch=3", "--memory", "16GB"}), HasSubstr("omit batch="));
  EXPECT_THAT(complaint({"max-batch", "graph.json", "--memory", "16GB"}), HasSubstr("zoo:NAME"));
  EXPECT_THAT(complaint({"max-batch", "zoo:vgg19", "--memory", "60%"}), HasSubstr("--memory"));
  EXPECT_EQ(checkmate({"max-batch", "zoo:vgg19", "--memory", "1GB"}).exit_code, 2);
}

}  // namespace
}  // namespace checkmate::testing
