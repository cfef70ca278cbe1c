#include "checkmate/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/explain.h"
#include "checkmate/simulate.h"
#include "report/report_data.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using namespace literals;
using ::testing::AllOf;
using testing::diamond;
using testing::full_featured;
using ::testing::HasSubstr;
using ::testing::Not;

using namespace testing::diamond_ops;

/// What the page holds as data, as it was before it was made fit to stand in a script element.
std::string data_of(const Graph& graph, const Plan& plan, const ReportOptions& options = {}) {
  return report::report_json(graph, plan, simulate(graph, plan).value(), options);
}
std::string page_of(const Graph& graph, const Plan& plan, const ReportOptions& options = {}) {
  const Result<std::string> page = report_html(graph, plan, options);
  EXPECT_TRUE(page) << page.error().message;
  return page ? *page : "";
}
std::string refusal(const Graph& graph, const Plan& plan, const ReportOptions& options) {
  const Result<std::string> page = report_html(graph, plan, options);
  EXPECT_FALSE(page);
  return page ? "" : page.error().message;
}

std::string memory_text(const Simulation& run) {
  std::vector<std::int64_t> bytes;
  for (const Bytes memory : run.memory) bytes.push_back(memory.count());
  return fmt::format("\"memory\":[{}]", fmt::join(bytes, ","));
}
std::string stays_text(const std::vector<LiveInterval>& stays) {
  std::vector<std::uint32_t> numbers;
  for (const LiveInterval& stay : stays)
    numbers.insert(numbers.end(), {stay.tensor.value, stay.first, stay.last});
  return fmt::format("\"stays\":[{}]", fmt::join(numbers, ","));
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Graph named(std::string graph_name, std::string name) {
  GraphBuilder builder(std::move(graph_name));
  builder.add_op_with_output({.name = std::move(name), .cost = Cost{1}, .inputs = {}, .outputs = {}}, 8_B);
  return std::move(builder).build().value();
}

TEST(Report, ShowsARecomputation) {
  const Plan plan = plan_from_steps(diamond(), {kX, kA, kX, kB, kY}).value();
  const std::string data = data_of(diamond(), plan, {.budget = 30_B, .method = "by hand", .arena = 32_B});
  // x | x a, x gone | x a | x a b, x gone | a b y
  EXPECT_THAT(data, HasSubstr(R"("plan":{"steps":[0,1,0,2,3],"memory":[10,20,20,30,30])"));
  EXPECT_THAT(data, HasSubstr(R"("keepAll":{"steps":[0,1,2,3],"memory":[10,20,30,30])"));
  EXPECT_THAT(data, HasSubstr(R"("recomputedCost":1,"recomputed":[0,1,1])"));  // x, once more, at 1
  EXPECT_THAT(data,
              HasSubstr(R"("method":"by hand","order":"fixed","budget":30,"arena":32,"resident":null,)"));
  EXPECT_THAT(data, HasSubstr(R"("overhead":1.1,)"));
  EXPECT_THAT(data, HasSubstr(R"("edges":[0,1,0,2,1,3,2,3])"));
}

TEST(Report, HasTheFiguresOfTheSimulatorAndOfTheExplanation) {
  for (std::uint64_t seed = 0; seed < testing::share_of(200); ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = testing::random_graph(seed, 3 + seed % 12, testing::Features::all());
    const Plan plan = plan_from_steps(graph, testing::random_steps(graph, random)).value();
    const Simulation run = simulate(graph, plan).value();
    const Explanation explanation = explain(graph, plan).value();
    const std::string data = data_of(graph, plan);
    EXPECT_THAT(data, HasSubstr(memory_text(run))) << seed;
    EXPECT_THAT(data, HasSubstr(stays_text(run.intervals))) << seed;
    EXPECT_THAT(data, HasSubstr(memory_text(simulate(graph, keep_all_plan(graph)).value()))) << seed;
    EXPECT_THAT(data, HasSubstr(fmt::format("\"recomputedCost\":{}", explanation.recomputed_cost.count())));
    EXPECT_THAT(data, HasSubstr(fmt::format(
                          "\"steps\":[{}],\"workspace\":{},{}", fmt::join(explanation.peak_steps, ","),
                          explanation.peak_workspace.count(), stays_text(explanation.at_peak))));
    EXPECT_THAT(data, HasSubstr(fmt::format("\"peak\":{},\"cost\":{}", run.peak.count(), run.cost.count())));
  }
}

TEST(Report, TellsTheGapToTheBound) {
  const Plan plan = plan_from_steps(diamond(), {kX, kA, kX, kB, kY}).value();
  EXPECT_THAT(data_of(diamond(), plan, {.lower_bound = Cost{11}}),
              HasSubstr(R"("bound":11,"boundOverhead":1.1,"gap":0,"optimal":true)"));
  // Without one, every op once: (11 - 10) / 11.
  EXPECT_THAT(data_of(diamond(), plan), HasSubstr(R"("bound":10,"boundOverhead":1,"gap":0.0909)"));
}

TEST(Report, DrawsABandFromTheBestBoundAndTheBestPlan) {
  const Plan plan = plan_from_steps(diamond(), {kX, kA, kX, kB, kY}).value();
  const std::vector<ReportPoint> points = {
      {.budget = 20_B, .method = "m", .status = Status::kInfeasible},
      {.budget = 25_B, .method = "m", .status = Status::kFeasible, .cost = Cost{15}, .lower_bound = Cost{10}},
      {.budget = 40_B,
       .method = "m",
       .status = Status::kFeasible,
       .cost = Cost{20},
       .lower_bound = Cost{10}}};
  const std::string data =
      data_of(diamond(), plan, {.budget = 30_B, .lower_bound = Cost{11}, .points = points});
  // The plan's bound, 11 at 30 bytes, holds for less memory too; its cost, 11, is to be had with more.
  EXPECT_THAT(data, HasSubstr(R"("band":[{"budget":20,"bound":1.1,"best":null},)"
                              R"({"budget":25,"bound":1.1,"best":1.5},{"budget":30,"bound":1.1,"best":1.1},)"
                              R"({"budget":40,"bound":1,"best":1.1}])"));
  EXPECT_THAT(data, HasSubstr(R"({"method":"m","budget":20,"status":"infeasible","overhead":null})"));
  EXPECT_THAT(data_of(diamond(), plan), HasSubstr(R"("tradeoff":null)"));
}

TEST(Report, TakesThePointsOfASweep) {
  SolveResult found;
  found.status = Status::kInfeasible;
  found.lower_bound = Cost{7};
  const std::vector<ReportPoint> points = report_points({{20_B, "m", found}});
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].status, Status::kInfeasible);
  EXPECT_FALSE(points[0].cost);
  EXPECT_FALSE(points[0].lower_bound);  // of no plan, every bound holds
}

TEST(Report, LetsNoNameOutOfItsPlace) {
  const std::string wicked = "</script><script>alert(1)</script><!-- \xE2\x80\xA8 & @SCRIPT@ \"\\ \n";
  const Graph graph = named(wicked, wicked);
  const std::string page = page_of(graph, keep_all_plan(graph), {.method = wicked});
  const std::string plain = page_of(diamond(), keep_all_plan(diamond()));
  for (const char* part : {"<script", "</script", "<!--", "alert(1)</"})
    EXPECT_EQ(occurrences(page, part), occurrences(plain, part)) << part;
  EXPECT_EQ(occurrences(page, "\xE2\x80\xA8"), occurrences(plain, "\xE2\x80\xA8"));
  EXPECT_THAT(page, HasSubstr(R"(\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e\u003c!--)"
                              R"( \u2028 \u0026 @SCRIPT@ \"\\ \u000a)"));
}

TEST(Report, KeepsNamesWholeWhateverTheyAre) {
  for (const std::string& name :
       {std::string(10'000, 'n'), std::string("卷积 слой é 🦊"), std::string()}) {
    const Graph graph = named("graph", name);
    EXPECT_THAT(page_of(graph, keep_all_plan(graph)), HasSubstr("\"names\":[\"" + name + "\"]"));
  }
}

TEST(Report, AsksForNothingFromOutside) {
  const std::string page = page_of(diamond(), keep_all_plan(diamond()));
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'sha256-")));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  for (const char* outside : {" src=", "@import", "url(http", "href=\"http"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
  }
}

TEST(Report, RefusesPlansThatDoNotHold) {
  const Graph graph = diamond();
  EXPECT_THAT(refusal(graph, keep_all_plan(graph), {.budget = 29_B}), HasSubstr("budget"));
  Plan unknown{{OpId{9}}, {}};
  unknown.frees.push_step({});
  EXPECT_THAT(refusal(graph, unknown, {}), HasSubstr("op 9"));
  EXPECT_THAT(refusal(graph, plan_from_steps(graph, {kX, kA}).value(), {}), HasSubstr("more)"));
  EXPECT_THAT(refusal(graph, plan_from_steps(graph, {kX, kB, kA, kY}).value(), {}), HasSubstr("first run"));
  EXPECT_THAT(refusal(graph, keep_all_plan(graph), {.lower_bound = Cost{11}}),
              HasSubstr("lower bound 11 is above the plan's cost 10"));
  const Plan moved = plan_from_steps(graph, {kX, kB, kA, kY}).value();
  EXPECT_TRUE(report_html(graph, moved, {.order = Order::kFree}));
}

TEST(Report, ShowsEveryFeature) {
  const std::string data = data_of(full_featured(), keep_all_plan(full_featured()));
  EXPECT_THAT(data, HasSubstr("\"maker\":[-1,"));  // the weight is made by nobody
  EXPECT_THAT(data, HasSubstr(fmt::format("\"fixed\":{}", full_featured().fixed_bytes().count())));
}

TEST(Report, StaysSmall) {
  const Graph graph = testing::chain(2500);  // 2500 layers, loss, 2500 gradients
  const std::string page = page_of(graph, keep_all_plan(graph));
  EXPECT_LT(page.size(), 1'000'000U);  // 3 MB is the limit
  EXPECT_THAT(data_of(graph, keep_all_plan(graph)), HasSubstr(R"("edges":null)"));
}

}  // namespace
}  // namespace checkmate
