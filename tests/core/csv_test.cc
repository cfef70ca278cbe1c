#include "core/csv.h"

#include <gmock/gmock.h>

namespace checkmate {
namespace {

using ::testing::HasSubstr;

TEST(CsvLine, DoublesQuotesAndQuotesCellsWithCommas) {
  EXPECT_EQ(csv_line({"plain", "a,b", "say \"hi\""}), "plain,\"a,b\",\"say \"\"hi\"\"\"\n");
}

TEST(CsvLine, IsOneLineWhateverTheCellsHold) { EXPECT_EQ(csv_line({"a\nb", ""}), "a\\x0ab,\n"); }

TEST(CsvReader, ReadsWhatCsvLineWrote) {
  const std::string text = csv_line({"name", "count"}) + csv_line({"\"a\", b", "12"});
  CsvReader table(text, "test");
  const std::size_t name = table.column("name");
  const std::size_t count = table.column("count");
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.cell(name), "\"a\", b");
  EXPECT_EQ(table.number<int>(count), 12);
  EXPECT_FALSE(table.next());
  EXPECT_FALSE(table.error());
}

TEST(CsvReader, NamesTheLineOfTheFirstFailure) {
  const std::string text = "count\n1\n-2\n";
  CsvReader table(text, "test.csv");
  const std::size_t count = table.column("count");
  while (table.next()) table.number<int>(count);
  ASSERT_TRUE(table.error());
  EXPECT_THAT(table.error()->message, HasSubstr("test.csv:3: count is '-2'"));
}

}  // namespace
}  // namespace checkmate
