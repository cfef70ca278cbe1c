#include "core/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace checkmate {
namespace {

using ::testing::HasSubstr;

/// The message of the first failure once every row is read.
std::string failure(std::string_view text) {
  CsvReader csv(text, "t.csv");
  const std::size_t number = csv.column("n");
  while (csv.next()) csv.number<std::int64_t>(number);
  return csv.error() ? csv.error()->message : "none";
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_line({"a", "1.5", ""}), "a,1.5,\n");
  EXPECT_EQ(csv_line({"a,b", "say \"x\""}), "\"a,b\",\"say \"\"x\"\"\"\n");
  EXPECT_EQ(csv_line({"two\nlines"}), "two\\x0alines\n");  // every row is one line
}

TEST(Csv, ReadsWhatItWrites) {
  const std::vector<std::string> cells = {"zoo:a?b=1,2", "\"", "plain", ""};
  const std::string text = csv_line({"a", "b", "c", "d"}) + csv_line(cells);
  CsvReader csv(text, "t.csv");
  ASSERT_TRUE(csv.next());
  for (std::size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(csv.cell(i), cells[i]);
  EXPECT_FALSE(csv.next());
  EXPECT_FALSE(csv.error());
}

TEST(Csv, FindsColumnsByNameAndSkipsEmptyLines) {
  CsvReader csv("x,n\r\n\r\na,7\r\n\nb,9", "t.csv");
  const std::size_t n = csv.column("n");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.number<std::int64_t>(n), 7);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.cell(csv.column("x")), "b");
  EXPECT_EQ(csv.number<double>(n), 9.0);
  EXPECT_FALSE(csv.next());
}

TEST(Csv, TellsTheFirstFailureWithItsLine) {
  EXPECT_EQ(failure("n\n1\n2\n"), "none");
  EXPECT_THAT(failure("m\n1\n"), HasSubstr("t.csv:1: there is no column 'n'"));
  EXPECT_THAT(failure("n,m\n1,2\n3\n"), HasSubstr("t.csv:3: 1 cell for 2 columns"));
  EXPECT_THAT(failure("n\n1\n\n-2\nx\n"), HasSubstr("t.csv:4: n is '-2'"));
  EXPECT_THAT(failure("n\n1e3\n"), HasSubstr("t.csv:2: n is '1e3'"));
  EXPECT_THAT(failure("n\n\"1\n"), HasSubstr("t.csv:2: a quotation mark is not closed"));
}

}  // namespace
}  // namespace checkmate
