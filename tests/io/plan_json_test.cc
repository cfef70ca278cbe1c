#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkmate/io.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::diamond;
using testing::Features;
using ::testing::HasSubstr;

std::string why_not(const std::string& members) {
  const Result<PlanRecord> plan =
      parse_plan("{\"format\": \"checkmate.plan\", \"version\": 1, " + members + "}", diamond(), "p.json");
  return plan ? "it is a plan" : plan.error().message;
}

RC_GTEST_PROP(PlanJsonProperty, ARoundTripIsExact, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  const Graph graph = testing::random_graph(seed, *rc::gen::inRange<std::size_t>(1, 20), Features::all());
  PlanRecord record;
  record.plan = *plan_from_steps(graph, testing::random_steps(graph, random));
  record.order = *rc::gen::element(Order::kFixed, Order::kFree);
  if (*rc::gen::arbitrary<bool>()) {
    record.graph_name = "any \"name\"";
    record.graph_sha256 = graph_sha256(graph);
    record.budget = Bytes{1LL << 60};
    record.cost = Cost{12};
    record.peak = Bytes{13};
    record.lower_bound = Cost{11};
    record.method = "keep-all";
    record.seed = seed >> 1U;
    record.layout = lay_out(*blocks_of(graph, record.plan), {.moves = 1})->layout;
  }
  const Result<PlanRecord> again = parse_plan(plan_to_json(record), graph);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == record);
}

TEST(PlanJson, GivesBareStepsTheirTightestFrees) {
  const PlanRecord record =
      parse_plan(R"({"format": "checkmate.plan", "version": 1, "steps": [0, 1, 2, 3]})", diamond()).value();
  EXPECT_EQ(record.plan, keep_all_plan(diamond()));
}

TEST(PlanJson, RefusesWhatIsNoPlanOfTheGraph) {
  EXPECT_THAT(why_not(R"("steps": [0, 1, 2, 9])"),
              HasSubstr("p.json: $.steps[3] is op 9, but the graph has ops 0 to 3"));
  EXPECT_THAT(why_not(R"("steps": [0], "frees": [[7]])"),
              HasSubstr("$.frees[0] has tensor 7, but the graph has 4 tensors"));
  EXPECT_THAT(why_not(R"("steps": [0, 1], "frees": [[]])"), HasSubstr("$.frees has 1 list for 2 steps"));
  EXPECT_THAT(why_not(R"("steps": [0], "graph_name": "other", "graph_sha256": "abc")"),
              HasSubstr("for another graph, 'other'"));
  EXPECT_THAT(why_not(R"("steps": [0.5])"), HasSubstr("$.steps[0]"));
  EXPECT_THAT(why_not(R"("steps": [-1])"), HasSubstr("at least 0"));
  EXPECT_THAT(why_not(R"("order": "sideways", "steps": [0])"), HasSubstr("\"fixed\" or \"free\""));
  EXPECT_THAT(why_not(R"("budget_bytes": "6GiB", "steps": [0])"), HasSubstr("$.budget_bytes"));
  EXPECT_THAT(why_not(R"("steps": [0], "layout": {"size_bytes": 1, "alignment": 0, "offsets": []})"),
              HasSubstr("$.layout.alignment"));
  EXPECT_THAT(why_not(R"("steps": [0], "layout": {"size_bytes": 1, "alignment": 1})"),
              HasSubstr("'offsets' is missing"));
  EXPECT_THAT(why_not(R"("order": "fixed")"), HasSubstr("'steps' is missing"));
  EXPECT_THAT(parse_plan(graph_to_json(diamond()), diamond(), "p.json").error().message,
              HasSubstr("another kind of file"));
}

TEST(PlanRecord, SaysWhatIsKnownAboutThePlanOfASearch) {
  const Graph graph = testing::late_use();
  const SolveOptions options{.budget = Bytes{40}, .seed = 7};
  const SolveResult result = solve(graph, options).value();
  const PlanRecord record = record_of(graph, options, result).value();
  EXPECT_EQ(record.plan, *result.plan);
  EXPECT_EQ(record.cost, Cost{5});
  EXPECT_EQ(record.peak, Bytes{40});
  EXPECT_EQ(record.budget, Bytes{40});
  EXPECT_EQ(record.seed, 7U);
  EXPECT_EQ(record.graph_sha256, graph_sha256(graph));
  EXPECT_EQ(parse_plan(plan_to_json(record), graph).value(), record);
  EXPECT_EQ(record_of(graph, {.budget = Bytes{1}}, solve(graph, {.budget = Bytes{1}}).value()), std::nullopt);
}

TEST(GraphSha256, ChangesWithTheGraph) {
  EXPECT_EQ(graph_sha256(diamond()), graph_sha256(diamond()));
  EXPECT_NE(graph_sha256(diamond()), graph_sha256(testing::full_featured()));
}

TEST(GraphSha256, DoesNotDependOnTheGraphsName) {
  EXPECT_EQ(graph_sha256(zoo::build("linear").value()), graph_sha256(zoo::build("linear?n=8").value()));
}

}  // namespace
}  // namespace checkmate
