#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;

TEST(ZooVerb, WritesAGraph) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "g.json").string();
  EXPECT_EQ(checkmate({"zoo", "linear?n=4", "-o", file}).exit_code, 0);
  EXPECT_EQ(*read_graph(file), *zoo::build("linear?n=4"));
}

TEST(ZooVerb, ListsEveryNetwork) {
  const Finished list = checkmate({"zoo"});
  for (const zoo::Network& network : zoo::networks())
    EXPECT_THAT(list.out, HasSubstr(std::string(network.name)));
}

}  // namespace
}  // namespace checkmate::testing
