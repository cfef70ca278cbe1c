#include "checkmate/plot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkmate/checkmate.h"
#include "plot/axes.h"
#include "plot/canvas.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using namespace literals;

/// One op, no edge.
Graph single() {
  GraphBuilder b("one");
  b.add_op_with_output({.name = "only", .cost = Cost{1}, .inputs = {}, .outputs = {}}, 4_KiB);
  return std::move(b).build().value();
}

std::string timeline(const Graph& graph, const PictureOptions& options = {}) {
  return plot_timeline(graph, keep_all_plan(graph), std::nullopt, options).value();
}

std::string map_of(const Graph& graph, const Plan& plan, const PictureOptions& options = {}) {
  const MapPanel panel = {std::string(graph.name()), stage_map(graph, plan).value()};
  return plot_map({&panel, 1}, options).value();
}

/// What people and programs see of an SVG from the outside: the counters in its ids differ from one picture
/// of a process to the next.
void expect_svg(const std::string& svg) {
  EXPECT_THAT(svg, AllOf(StartsWith("<?xml"), HasSubstr("<svg role=\"img\" "), HasSubstr("<title>"),
                         HasSubstr("<desc>"), HasSubstr("</svg>")));
}

TEST(Plot, KnowsTheFormatsByTheirEndings) {
  EXPECT_EQ(*picture_format("a.svg"), PictureFormat::kSvg);
  EXPECT_EQ(*picture_format("dir.svg/A.PNG"), PictureFormat::kPng);
  EXPECT_EQ(*picture_format("x.pdf"), PictureFormat::kPdf);
  for (const char* name : {"a.gif", "svg", "", "a.svg.gz", "."}) EXPECT_FALSE(picture_format(name)) << name;
}

TEST(Plot, MakesAllFormats) {
  const Graph graph = testing::chain(4);
  expect_svg(timeline(graph));
  EXPECT_THAT(timeline(graph, {.format = PictureFormat::kPng}), StartsWith("\x89PNG"));
  EXPECT_THAT(timeline(graph, {.format = PictureFormat::kPdf}), StartsWith("%PDF"));
}

TEST(Plot, GivesTheSameFileForTheSamePicture) {
  const Graph graph = testing::chain(4);
  for (const PictureFormat format : {PictureFormat::kPng, PictureFormat::kPdf})
    EXPECT_EQ(timeline(graph, {.format = format}), timeline(graph, {.format = format}));
}

TEST(Plot, TellsInWordsWhatATimelineShows) {
  const Graph graph = testing::chain(8);
  const Plan plan = solve(graph, {.budget = 8_B})->plan.value();
  const std::string svg = plot_timeline(graph, plan, 8_B).value();
  // The chain of 8 keeps 10 at its peak.
  EXPECT_THAT(svg, AllOf(HasSubstr("keep everything: "), HasSubstr("plan: 8 B"), HasSubstr("budget: 8 B"),
                         HasSubstr("% more work")));
  EXPECT_THAT(timeline(graph), Not(HasSubstr("budget")));
}

TEST(Plot, EscapesNames) {
  GraphBuilder b("<script>alert(1)</script> & \xC3\xA9");
  b.add_op_with_output({.name = "f", .cost = Cost{1}, .inputs = {}, .outputs = {}}, 1_B);
  const std::string svg = timeline(std::move(b).build().value());
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script")),
                         HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt; &amp; \xC3\xA9")));
}

TEST(Plot, ShowsNamesThatNobodyShouldHave) {
  for (const std::string& name :
       {std::string(10'000, 'x'), std::string("\xFF\xFE\x80"), std::string("a\nb\x1b[31m"),
        std::string("\xE4\xB8\xAD\xE6\x96\x87"), std::string()}) {
    GraphBuilder b(name);
    b.add_op_with_output({.name = name, .cost = Cost{1}, .inputs = {}, .outputs = {}}, 1_B);
    const Graph graph = std::move(b).build().value();
    expect_svg(timeline(graph));
    expect_svg(map_of(graph, keep_all_plan(graph)));
    expect_svg(plot_max_batch(std::vector<BatchBar>{{name, name, 3}}).value());
  }
}

TEST(Plot, CleansTextThatIsNoUtf8) {
  EXPECT_EQ(plot::clean("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(plot::clean("a\x80z"), "a?z");
  EXPECT_EQ(plot::clean("\xC0\xAF"), "??");            // overlong
  EXPECT_EQ(plot::clean("\xED\xA0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(plot::clean("\xF4\x90\x80\x80"), "????");  // past U+10FFFF
  EXPECT_EQ(plot::clean("\xE2\x82"), "??");            // cut off
  EXPECT_EQ(plot::clean("a\tb\x7F"), "a?b?");
  EXPECT_EQ(plot::clean("\xEF\xBF\xBF \xEF\xB7\x90 \xF0\x9F\xBF\xBE"), "? ? ?");  // never characters
  EXPECT_EQ(plot::clean("\xEF\xBF\xBD"), "\xEF\xBF\xBD");                         // U+FFFD is one
}

TEST(Plot, HasFewTicksWhereValuesAreAsCloseAsDoublesAre) {
  const double large = std::pow(2.0, 62);
  EXPECT_LT(plot::round_ticks(large - 512, large, 8).values.size(), 20U);
  EXPECT_LT(plot::round_ticks(large, large, 8).values.size(), 20U);
}

TEST(Plot, DrawsOneOpAndThousands) {
  const Graph one = single();
  expect_svg(timeline(one));
  expect_svg(map_of(one, keep_all_plan(one)));
  const Graph large = *zoo::build("linear?n=2500");  // 5,001 ops
  EXPECT_LT(timeline(large).size(), 1'000'000U);
  EXPECT_LT(map_of(large, keep_all_plan(large)).size(), 1'000'000U);
  for (const PictureFormat format : {PictureFormat::kPng, PictureFormat::kPdf})
    EXPECT_LT(map_of(large, keep_all_plan(large), {.format = format}).size(), 1'000'000U);
}

TEST(Plot, DrawsGraphsWithoutBytesOrCost) {
  GraphBuilder b("nothing");
  b.add_op_with_output({.name = "f", .cost = Cost{0}, .inputs = {}, .outputs = {}}, 0_B);
  const Graph graph = std::move(b).build().value();
  expect_svg(timeline(graph));
  EXPECT_TRUE(plot_timeline(graph, keep_all_plan(graph), 0_B));
}

TEST(Plot, RefusesAPlanThatCannotRunAndSizesOutOfRange) {
  const Graph graph = testing::diamond();
  EXPECT_FALSE(plot_timeline(graph, Plan{}, std::nullopt));
  const Plan plan = keep_all_plan(graph);
  for (const double size : {-1.0, 5.0, 1e9, std::nan("")}) {
    EXPECT_FALSE(plot_timeline(graph, plan, std::nullopt, {.width = size})) << size;
    EXPECT_FALSE(plot_timeline(graph, plan, std::nullopt, {.height = size})) << size;
  }
  EXPECT_TRUE(plot_timeline(graph, plan, std::nullopt, {.width = 240, .height = 240}));
}

TEST(Plot, DrawsSeveralMapsSideBySide) {
  const Graph graph = testing::chain(8);
  std::vector<MapPanel> panels;
  for (const char* label : {"first", "second"})
    panels.push_back({label, stage_map(graph, keep_all_plan(graph)).value()});
  EXPECT_THAT(plot_map(panels).value(),
              AllOf(HasSubstr("first: 17 ops in 17 stages"), HasSubstr("second: ")));
  EXPECT_FALSE(plot_map({}));
  EXPECT_FALSE(plot_map(std::vector<MapPanel>{{"empty", {}}}));
  EXPECT_FALSE(plot_map(std::vector<MapPanel>(50, panels[0]), {.width = 300}));
}

TEST(Plot, GathersATradeoffFromASweep) {
  const Graph graph = testing::chain(8);
  const std::vector<SweepPoint> points =
      sweep(graph, {.budgets = {3_B, 5_B, 9_B}, .methods = {"keep-all", "auto"}, .solve = {}}).value();
  const Tradeoff tradeoff = tradeoff_of(graph, points);
  ASSERT_EQ(tradeoff.methods.size(), 2U);
  EXPECT_EQ(tradeoff.methods[1].name, "auto");
  EXPECT_EQ(tradeoff.methods[1].points.size(), 2U);  // with three bytes there is no plan
  EXPECT_EQ(tradeoff.least_budget, 4_B);
  for (const Tradeoff::Point& point : tradeoff.bound) EXPECT_GE(point.overhead, 1);
  // Both are proven, so the bound is the plan's cost.
  EXPECT_EQ(tradeoff.bound.back().overhead, tradeoff.methods[1].points.back().overhead);
  expect_svg(plot_tradeoff(tradeoff).value());
}

TEST(Plot, DrawsTradeoffsOfAllKinds) {
  const auto drawn = [](const Tradeoff& tradeoff) { expect_svg(plot_tradeoff(tradeoff).value()); };
  drawn({.methods = {{"one point", {{1_GiB, 1}}}}});
  drawn(
      {.methods = {{"far off", {{1_GiB, 9.5}, {2_GiB, 1.01}, {3_GiB, 1.005}, {4_GiB, 1.001}}}, {"none", {}}},
       .bound = {{1_GiB, 8}, {4_GiB, 1}},
       .least_budget = 1_MiB});
  Tradeoff many;
  for (int i = 0; i < 30; ++i)
    many.methods.push_back({"method " + std::to_string(i), {{1_B, 1.0 + i}, {2_B, 1}}});
  drawn(many);
  EXPECT_FALSE(plot_tradeoff({}));
  EXPECT_FALSE(plot_tradeoff({.methods = {{"none", {}}}, .bound = {{1_B, 1}}}));
  EXPECT_FALSE(plot_tradeoff({.methods = {{"wrong", {{1_B, std::nan("")}}}}}));
  EXPECT_FALSE(plot_tradeoff({.methods = {{"wrong", {{1_B, 0.5}}}}}));
}

constexpr std::string_view kSweepHeader =
    "budget_bytes,budget_share,method,status,cost,overhead,peak_bytes,lower_bound,stage_lower_bound,"
    "seconds\n";

TEST(Plot, ReadsTheTableOfASweep) {
  const std::string table = std::string(kSweepHeader) +
                            "200,0.2,auto,feasible,150,1.5,190,120,,0.1\n"
                            "100,0.1,auto,infeasible,,,,0,,0.1\n"
                            "200,0.2,keep-all,unknown,,,,100,,0.1\n"
                            "\n"
                            "300,0.3,auto,optimal,100,1,300,100,,0.1\n";
  const Tradeoff tradeoff = parse_tradeoff(table).value();
  ASSERT_EQ(tradeoff.methods.size(), 2U);
  EXPECT_THAT(tradeoff.methods[0].points,
              ElementsAre(Tradeoff::Point{200_B, 1.5}, Tradeoff::Point{300_B, 1.0}));
  EXPECT_THAT(tradeoff.methods[1].points, IsEmpty());
  EXPECT_EQ(tradeoff.least_budget, 101_B);  // with 100 there is proven to be none
  EXPECT_THAT(tradeoff.bound, ElementsAre(Tradeoff::Point{200_B, 1.2}, Tradeoff::Point{300_B, 1.0}));
}

TEST(Plot, RefusesWrongTables) {
  const auto complaint = [](std::string_view rows) {
    const Result<Tradeoff> read = parse_tradeoff(std::string(kSweepHeader) + std::string(rows), "t.csv");
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(complaint("1,2\n"), HasSubstr("t.csv:2: 2 cells for 10 columns"));
  EXPECT_THAT(complaint("x,0.2,auto,feasible,150,1.5,190,120,,0.1\n"), HasSubstr("budget_bytes is 'x'"));
  EXPECT_THAT(complaint("-1,0.2,auto,feasible,150,1.5,190,120,,0.1\n"), HasSubstr("0 or more"));
  EXPECT_THAT(complaint("1,0.2,auto,feasible,150,nan,190,120,,0.1\n"), HasSubstr("overhead is 'nan'"));
  EXPECT_THAT(complaint("\"1,0.2\n"), HasSubstr("quotation mark"));
  EXPECT_THAT(complaint("9223372036854775807,1,auto,infeasible,,,,5,,0\n"), HasSubstr("exceeds 2^62"));
  std::string many;
  for (int i = 0; i < 200; ++i) many += fmt::format("1,0.2,m{},feasible,150,1.5,190,120,,0.1\n", i);
  EXPECT_THAT(complaint(many), HasSubstr("at most 100 methods"));
  EXPECT_THAT(parse_tradeoff("", "t.csv").error().message, HasSubstr("no column 'budget_bytes'"));
  EXPECT_THAT(parse_batches("network,method\na,b\n").error().message, HasSubstr("no column 'batch'"));
}

TEST(Plot, KeepsBatchesInATable) {
  const std::vector<BatchBar> bars = {{"U-Net", "keep-all", 24}, {"a, \"b\"", "milp", 0}};
  EXPECT_EQ(parse_batches(batches_to_csv(bars)).value(), bars);
}

TEST(Plot, DrawsBatches) {
  expect_svg(plot_max_batch(std::vector<BatchBar>{{"one", "keep-all", 1}}).value());
  const std::vector<BatchBar> bars = {
      {"U-Net", "keep-all", 24}, {"U-Net", "milp", 45}, {"VGG19", "keep-all", 222}, {"VGG19", "milp", 289}};
  EXPECT_THAT(plot_max_batch(bars).value(), HasSubstr("VGG19, milp: 289."));
  EXPECT_FALSE(plot_max_batch({}));
  EXPECT_FALSE(plot_max_batch(std::vector<BatchBar>{{"a", "b", -1}}));
  std::vector<BatchBar> many;
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t j = 0; j < 12; ++j)
      many.push_back({"network " + std::to_string(i), std::to_string(j), i * j});
  }
  expect_svg(plot_max_batch(many).value());
}

TEST(Ticks, AreRoundNumbers) {
  EXPECT_THAT(plot::round_ticks(0, 20, 5).values, ElementsAre(0, 5, 10, 15, 20));
  EXPECT_EQ(plot::round_ticks(1, 1.08, 4).text(1), "1.02");
  EXPECT_EQ(plot::round_ticks(0, 5000, 5).text(1), "1,000");
  for (const double high : {1e-9, 0.3, 1.0, 7.7, 123.0, 9e18}) {
    const plot::Ticks ticks = plot::round_ticks(0, high, 6);
    EXPECT_GE(ticks.values.size(), 2U) << high;
    EXPECT_LE(ticks.values.size(), 8U) << high;
  }
}

TEST(Ticks, ReadInTheUnitThatSuits) {
  EXPECT_EQ(plot::byte_unit(10_B).name, "bytes");
  EXPECT_EQ(plot::byte_unit(1_GiB).name, "MiB");
  EXPECT_EQ(plot::byte_unit(20_GiB).name, "GiB");
  EXPECT_DOUBLE_EQ(plot::byte_unit(20_GiB).of(20_GiB), 20);
}

}  // namespace
}  // namespace checkmate
