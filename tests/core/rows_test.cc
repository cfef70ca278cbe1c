#include "checkmate/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Rows, HoldRowsOfVaryingLengthEndToEnd) {
  Rows<int> rows;
  EXPECT_EQ(rows.size(), 0U);
  rows.push(std::array{1, 2});
  rows.push({});
  rows.push_item(3);
  rows.push_item(4);
  rows.push_item(5);
  rows.end_row();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[0], ElementsAre(1, 2));
  EXPECT_THAT(rows[1], IsEmpty());
  EXPECT_THAT(rows[2], ElementsAre(3, 4, 5));
  EXPECT_THAT(rows.items(), ElementsAre(1, 2, 3, 4, 5));
}

TEST(Rows, SortItemsByRowInTheOrderInWhichTheyCome) {
  const auto rows = Rows<char, std::uint32_t>::by_row(4, [](const auto& visit) {
    visit(2, 'a');
    visit(0, 'b');
    visit(2, 'c');
    visit(3, 'd');
  });
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_THAT(rows[0], ElementsAre('b'));
  EXPECT_THAT(rows[1], IsEmpty());
  EXPECT_THAT(rows[2], ElementsAre('a', 'c'));
  EXPECT_THAT(rows[3], ElementsAre('d'));
}

TEST(Rows, AreEqualOnlyWhereTheirEndsAre) {
  Rows<int> one, two;
  one.push(std::array{1, 2});
  two.push(std::array{1});
  two.push(std::array{2});
  EXPECT_FALSE(one == two);  // the same items
}

}  // namespace
}  // namespace checkmate
