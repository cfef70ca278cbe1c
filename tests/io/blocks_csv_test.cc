#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/io.h"

namespace checkmate {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BlocksCsv, ReadsColumnsInAnyOrder) {
  const BlockTable table = *parse_blocks("size,x,upper,lower,id\n5,?,7,3,a\n0,,9,9,\"b,c\"\n");
  EXPECT_THAT(table.ids, ElementsAre("a", "b,c"));
  EXPECT_THAT(table.blocks, ElementsAre(Block{5_B, 3, 7}, Block{0_B, 9, 9}));
}

TEST(BlocksCsv, ReadsWhatItWrites) {
  const BlockTable table{{"a", "b,c"}, {{5_B, 3, 7}, {6_B, 7, 9}}};
  const std::string text = layout_to_csv(table, {{0_B, 64_B}, 128_B, 64_B});
  EXPECT_THAT(text, HasSubstr("a,3,7,5,0\n\"b,c\",7,9,6,64\n"));
  const BlockTable again = *parse_blocks(text);
  EXPECT_EQ(again.ids, table.ids);
  EXPECT_EQ(again.blocks, table.blocks);
}

TEST(BlocksCsv, NamesTheLineOfAMistake) {
  const auto message = [](std::string_view text) { return parse_blocks(text, "b.csv").error().message; };
  EXPECT_THAT(message(""), HasSubstr("no column 'id'"));
  EXPECT_THAT(message("id,lower,upper,size\na,0,1,2\nb,2,1,2\n"), HasSubstr("b.csv:3: upper 1 is below"));
  EXPECT_THAT(message("id,lower,upper,size\na,-1,1,2\n"), HasSubstr("b.csv:2: lower is '-1'"));
  EXPECT_THAT(message("id,lower,upper,size\na,0,1\n"), HasSubstr("3 cells for 4 columns"));
}

}  // namespace
}  // namespace checkmate
