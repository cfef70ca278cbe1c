#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/command_line.h"
#include "support/graphs.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ConvertVerb, WritesTheFormatsOfGraphs) {
  const ScratchFolder folder;
  const std::string file = folder.file("g.json", graph_to_json(diamond()));
  EXPECT_EQ(checkmate({"convert", file}).out, read_text(file));
  EXPECT_THAT(checkmate({"convert", file, "--to", "dot"}).out, StartsWith("digraph"));
}

TEST(ConvertVerb, WritesThePapersProgram) {
  EXPECT_THAT(checkmate({"convert", "zoo:linear?n=3", "--to", "lp", "--budget", "100%"}).out,
              HasSubstr("R_2_1"));
  EXPECT_THAT(
      checkmate({"convert", "zoo:linear?n=3", "--to", "mps", "--budget", "100%", "--stages", "free"}).out,
      HasSubstr("R_1_2"));
  EXPECT_THAT(complaint({"convert", "zoo:linear?n=3", "--to", "mps"}), HasSubstr("--budget"));
}

}  // namespace
}  // namespace checkmate::testing
