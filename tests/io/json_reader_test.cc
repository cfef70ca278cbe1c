#include "io/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<JsonReader::Field, 2> kFields = {{{"name", true}, {"sizes"}}};

struct Read {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::string error;
};

/// Reads {"name": text, "sizes": [numbers]}.
Read read(std::string text, JsonReader::Others others = JsonReader::Others::kRefuse) {
  Read found;
  JsonReader json(std::move(text), "f.json");
  json.object(kFields, others, [&](std::size_t field) {
    if (field == 0) found.name = json.string();
    if (field == 1) json.array([&](std::size_t) { found.sizes.push_back(json.integer(1)); });
  });
  if (const Result<void> end = json.finish(); !end) found.error = end.error().message;
  return found;
}

/// The error after `use` has read the value v of {"v": v}.
std::string error_of(const std::string& value, const std::function<void(JsonReader&)>& use) {
  constexpr std::array<JsonReader::Field, 1> kValue = {{{"v"}}};
  JsonReader json("{\"v\": " + value + "}", "f.json");
  json.object(kValue, JsonReader::Others::kRefuse, [&](std::size_t) { use(json); });
  const Result<void> end = json.finish();
  return end ? "" : end.error().message;
}

TEST(JsonReader, VisitsMembersInTheOrderOfTheFile) {
  const Read found = read(R"({"sizes": [3, 1], "name": "a\nb"})");
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.name, "a\nb");
  EXPECT_THAT(found.sizes, ElementsAre(3, 1));
}

TEST(JsonReader, NamesFileLineAndPathOfAFailure) {
  EXPECT_THAT(read("{\"name\": \"a\",\n \"sizes\": [1,\n  0]}").error,
              HasSubstr("f.json:3: $.sizes[1]: expected at least 1, got 0"));
  EXPECT_THAT(read(R"({"sizes": []})").error, HasSubstr("the member 'name' is missing"));
  EXPECT_THAT(read(R"({"name": "a", "name": "b"})").error, HasSubstr("$.name: the member is given twice"));
}

TEST(JsonReader, RefusesOrSkipsOtherMembers) {
  const std::string text = R"({"name": "a", "more": {"deep": [1, null, true, "x"]}})";
  EXPECT_THAT(read(text).error, HasSubstr("$.more: unknown member"));
  EXPECT_EQ(read(text, JsonReader::Others::kSkip).error, "");
  EXPECT_THAT(read(R"({"name": "a", "more": [1, nul]})", JsonReader::Others::kSkip).error,
              HasSubstr("$.more[1]"));  // what is skipped has to be JSON
}

TEST(JsonReader, KeepsTheFirstFailureAndReadsNothingAfterIt) {
  const Read found = read(R"({"name": 7, "sizes": [0]})");
  EXPECT_THAT(found.error, HasSubstr("$.name: expected a string, got 7"));
  EXPECT_THAT(found.sizes, ElementsAre());
}

TEST(JsonReader, SaysWhatIsWrongWithTheText) {
  EXPECT_THAT(read("").error, HasSubstr("the file is empty"));
  EXPECT_THAT(read("7").error, HasSubstr("expected a JSON object or array"));
  EXPECT_THAT(read("[]").error, HasSubstr("expected an object"));
  EXPECT_THAT(read(R"({"name": "a)").error, HasSubstr("truncated"));
  EXPECT_THAT(read("{\"name\": \"\xff\"}").error, HasSubstr("not UTF-8"));
  EXPECT_THAT(read(R"({"name": "a"} 7)").error, HasSubstr("more text after the end"));
}

TEST(JsonReader, ReadsWholeNumbersExactly) {
  const auto integer = [](JsonReader& json) { json.integer(); };
  EXPECT_EQ(error_of("9223372036854775807", integer), "");
  EXPECT_THAT(error_of("9223372036854775808", integer), HasSubstr("below 2^63"));
  EXPECT_THAT(error_of("1.0", integer), HasSubstr("expected a whole number"));
  const auto whole = [](JsonReader& json) { EXPECT_EQ(json.whole_number(), 12); };
  EXPECT_EQ(error_of("12.0", whole), "");  // as networkx writes it
  EXPECT_EQ(error_of("12", whole), "");
  EXPECT_THAT(error_of("12.5", [](JsonReader& json) { json.whole_number(); }), HasSubstr("got 12.5"));
  // 2^53 + 2: a double has it, but may have been rounded.
  EXPECT_THAT(error_of("9007199254740994.0", [](JsonReader& json) { json.whole_number(); }),
              HasSubstr("to 2^53"));
}

TEST(JsonReader, ReadsCostsWithAFraction) {
  const auto cost = [](JsonReader& json) {
    const DecimalCost number = json.decimal_cost();
    EXPECT_EQ(number.digits, 125);
    EXPECT_EQ(number.exponent, -2);
  };
  for (const char* text : {"1.25", "125e-2", "0.125E1 "}) EXPECT_EQ(error_of(text, cost), "") << text;
  const auto refused = [](JsonReader& json) { json.decimal_cost(); };
  EXPECT_THAT(error_of("-1.5", refused), HasSubstr("expected at least 0, got -1.5"));
  EXPECT_THAT(error_of("9223372036854775808", refused), HasSubstr("below 2^63"));
  for (const char* text : {"1.", ".5", "1e", "\"1.5\"", "null"})
    EXPECT_NE(error_of(text, refused), "") << text;
}

TEST(JsonReader, ReadsIndicesAndTruth) {
  EXPECT_EQ(error_of("4294967294", [](JsonReader& json) { EXPECT_EQ(json.index(), 4294967294U); }), "");
  EXPECT_THAT(error_of("4294967295", [](JsonReader& json) { json.index(); }),
              HasSubstr("an index below 2^32 - 1"));
  EXPECT_EQ(error_of("true", [](JsonReader& json) { EXPECT_TRUE(json.boolean()); }), "");
  EXPECT_THAT(error_of("1", [](JsonReader& json) { json.boolean(); }), HasSubstr("true or false"));
}

TEST(JsonReader, LooksTwice) {
  JsonReader json(R"({"name": "a", "other": [1]})", "f.json");
  bool named = false;
  json.object(kFields, JsonReader::Others::kIgnore, [&](std::size_t) { named = true; });
  EXPECT_TRUE(named);
  json.rewind();
  std::string name;
  json.object(kFields, JsonReader::Others::kSkip, [&](std::size_t) { name = json.string(); });
  EXPECT_TRUE(json.finish());
  EXPECT_EQ(name, "a");
}

TEST(JsonReader, GoesSixtyFourLevelsDeep) {
  const auto nested = [](std::size_t arrays) {
    return R"({"name": "a", "more": )" + std::string(arrays, '[') + std::string(arrays, ']') + "}";
  };
  EXPECT_EQ(read(nested(63), JsonReader::Others::kSkip).error, "");  // the object is the first level
  EXPECT_THAT(read(nested(64), JsonReader::Others::kSkip).error, HasSubstr("deeper than 64 levels"));
}

}  // namespace
}  // namespace checkmate
