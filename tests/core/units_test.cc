#include "checkmate/units.h"

#include <gtest/gtest.h>

#include "core/text.h"

namespace checkmate {
namespace {

using namespace literals;

TEST(ParseBytes, ReadsPlainCountsAndUnits) {
  EXPECT_EQ(*parse_bytes("12345"), Bytes{12345});
  EXPECT_EQ(*parse_bytes("6GiB"), 6_GiB);
  EXPECT_EQ(*parse_bytes("16GB"), Bytes{16'000'000'000});
  EXPECT_EQ(*parse_bytes("512 MiB"), 512_MiB);
  EXPECT_EQ(*parse_bytes("1.5kib"), Bytes{1536});
  EXPECT_EQ(*parse_bytes("0.0001KB"), Bytes{0});  // 0.1 bytes, rounded down
  EXPECT_EQ(*parse_bytes("4096PiB"), Bytes{kLargestTotal});
  EXPECT_EQ(*parse_bytes("1000000000000000000"), Bytes{1'000'000'000'000'000'000});
  EXPECT_EQ(*parse_bytes("1.00000000000000000000GiB"), 1_GiB);
}

TEST(ParseBytes, RefusesWhatIsNoSizeAndSaysWhatWouldBe) {
  for (const char* text : {"", "-1", "5 potatoes", "GiB", "1.2.3GiB", "1e9", "nan", "1.5", "5000PiB",
                           "99999999999999999999", "0x10", "1 GiB "}) {
    const Result<Bytes> bytes = parse_bytes(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_NE(bytes.error().message.find("6GiB"), std::string::npos) << bytes.error().message;
  }
}

TEST(Bytes, PrintsForPeople) {
  EXPECT_EQ(to_string(512_B), "512 B");
  EXPECT_EQ(to_string(Bytes{6'871'947'674}), "6.4 GiB");  // 6.4 x 2^30
  EXPECT_EQ(to_string(Bytes{1024 * 1024 - 1}), "1.0 MiB");
  EXPECT_EQ(to_string(Bytes{INT64_MAX}), "8.0 EiB");
}

TEST(Quantity, ThrowsInsteadOfWrapping) {
  EXPECT_THROW(Bytes{INT64_MAX} + Bytes{1}, std::overflow_error);
  EXPECT_THROW(Cost{INT64_MIN} - Cost{1}, std::overflow_error);
  EXPECT_THROW(Bytes{1LL << 40} * (1LL << 40), std::overflow_error);
}

TEST(Text, MakesNamesFitForOneLine) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(printable("äöü", 3), "ä...");  // two bytes each: the cut would fall inside the second
  EXPECT_EQ(printable("a\xC2\x9B"
                      "b\xE2\x80\xA8"
                      "c"),
            "a\\u009bb\\u2028c");  // whole characters: what is left is UTF-8
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(123), "123");
  EXPECT_EQ(counted(1, "op"), "1 op");
  EXPECT_EQ(counted(2000, "op"), "2,000 ops");
  EXPECT_EQ(exact(Bytes{1}), "1 byte");
  EXPECT_EQ(exact(Bytes{1536}), "1.5 KiB (1,536 bytes)");
}

}  // namespace
}  // namespace checkmate
