#include "checkmate/whole_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/graph.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

WholeCosts whole(const std::vector<std::string>& texts, std::string_view unit = "ms") {
  std::vector<DecimalCost> costs;
  costs.reserve(texts.size());
  for (const std::string& text : texts) costs.push_back(parse_decimal_cost(text).value());
  return whole_costs(costs, unit).value();
}

TEST(WholeCosts, ReadsNumbersAsJsonAndPythonWriteThem) {
  const auto read = [](std::string_view text) { return parse_decimal_cost(text).value(); };
  EXPECT_EQ(read("12").digits, 12);
  EXPECT_EQ(read("1.250").digits, 125);  // x 10^-2
  EXPECT_EQ(read("1.250").exponent, -2);
  EXPECT_EQ(read("2.5E+3").digits, 25);  // x 10^2
  EXPECT_EQ(read("2.5E+3").exponent, 2);
  EXPECT_EQ(read("1e-07").exponent, -7);
  EXPECT_EQ(read("0.000").exponent, 0);
  EXPECT_EQ(read("0.12345678901234567899").digits, 1'234'567'890'123'456'789);  // the 20th digit is dropped
  for (const char* text : {"", ".", "-1", "+1", "1e", "1e+", "1.2.3", "0x1", "nan", "1 ", "1e5x"})
    EXPECT_FALSE(parse_decimal_cost(text)) << text;
}

TEST(WholeCosts, LeavesWholeCostsAsTheyAre) {
  const WholeCosts costs = whole({"3", "4.0", "5e2", "4611686018427387904"});
  EXPECT_THAT(costs.costs, ElementsAre(Cost{3}, Cost{4}, Cost{500}, Cost{kLargestTotal}));
  EXPECT_EQ(costs.unit, "ms");
}

TEST(WholeCosts, ScaleByTheSmallestPowerThatLeavesNoFraction) {
  const WholeCosts costs = whole({"1.5", "0.125", "3"});
  EXPECT_THAT(costs.costs, ElementsAre(Cost{1500}, Cost{125}, Cost{3000}));  // x 10^3
  EXPECT_EQ(costs.unit, "ms/10^3");
  EXPECT_EQ(whole({"0.1", "0.2"}).costs[1], Cost{2});  // decimals: 0.1 has no error, as a double would
}

TEST(WholeCosts, ScaleAUnitThatIsScaledAlready) { EXPECT_EQ(whole({"1.5"}, "ms/10^3").unit, "ms/10^4"); }

TEST(WholeCosts, RoundWhereTheSumWouldPassWhatADoubleCounts) {
  // 1234.5 x 10^11 is 1.2 x 10^14; with 10^12 the sum would pass 10^15.
  const WholeCosts costs = whole({"1234.5", "0.123456789012345"});
  EXPECT_EQ(costs.unit, "ms/10^11");
  EXPECT_THAT(costs.costs, ElementsAre(Cost{123'450'000'000'000}, Cost{12'345'678'901}));
  EXPECT_EQ(whole({"0.55", "89999999999999.9"}).costs[0], Cost{6});  // 0.55 x 10 is 5.5, rounded up
  EXPECT_EQ(whole({"1e-300", "1"}).costs[0], Cost{0});
  const WholeCosts noisy = whole({"0.30000000000000004", "1"});  // Python's 0.1 + 0.2
  EXPECT_THAT(noisy.costs, ElementsAre(Cost{3}, Cost{10}));
  EXPECT_EQ(noisy.unit, "ms/10^1");
  EXPECT_EQ(whole({"1e-300", "0"}).unit, "ms/10^300");
  // 10^6 costs: the sum counts, not only the largest one.
  const WholeCosts many = whole(std::vector<std::string>(1'000'000, "0.1234567890123456"));
  EXPECT_EQ(many.unit, "ms/10^9");
}

TEST(WholeCosts, RefuseACostThatNoGraphHolds) {
  const DecimalCost large = parse_decimal_cost("1e300").value();
  EXPECT_THAT(whole_costs({&large, 1}, "ms").error().message, HasSubstr("2^62"));
}

TEST(WholeCosts, PrintInTheUnitThatWasScaled) {
  EXPECT_EQ(to_string(Cost{1'234'500}, "ms/10^3"), "1,234.5 ms");
  EXPECT_EQ(to_string(Cost{5}, "ms/10^3"), "0.005 ms");
  EXPECT_EQ(to_string(Cost{2000}, "ms/10^3"), "2 ms");
  EXPECT_EQ(to_string(Cost{2000}, "ns"), "2,000 ns");
  EXPECT_EQ(to_string(Cost{7}, "per/10^x"), "7 per/10^x");
}

TEST(WholeCosts, GoIntoABuilder) {
  GraphBuilder builder("two");
  for (const char* name : {"f", "g"})
    builder.add_op_with_output({.name = name, .cost = {}, .inputs = {}, .outputs = {}}, Bytes{1});
  WholeCosts costs = whole({"0.5", "0.25"});
  EXPECT_THAT(builder.set_costs({Cost{1}}).error().message, HasSubstr("1 cost for 2 ops"));
  ASSERT_TRUE(builder.set_costs(std::move(costs.costs)));
  builder.set_cost_unit(costs.unit);
  const Graph graph = std::move(builder).build().value();
  EXPECT_EQ(to_string(graph.keep_all_cost(), graph.cost_unit()), "0.75 ms");
}

}  // namespace
}  // namespace checkmate
