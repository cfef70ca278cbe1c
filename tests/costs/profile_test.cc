#include "costs/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkmate/cost_model.h"
#include "checkmate/zoo.h"
#include "support/program.h"

namespace checkmate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string profile_of(const std::vector<std::string>& entries) {
  return fmt::format(
      "{{\"format\": \"checkmate.profile\", \"version\": 1, \"device\": \"test\", \"unit\": \"ns\",\n"
      " \"entries\": [{}]}}",
      fmt::join(entries, ",\n"));
}

std::string op_entry(std::string_view op, std::int64_t batch, std::int64_t nanoseconds) {
  return fmt::format(R"({{"op": "{}", "batch": {}, "nanoseconds": {}}})", op, batch, nanoseconds);
}

std::string shape_entry(std::string_view kind, std::string_view shape, std::int64_t batch,
                        std::int64_t nanoseconds) {
  return fmt::format(R"({{"kind": "{}", "shape": "{}", "batch": {}, "nanoseconds": {}}})", kind, shape, batch,
                     nanoseconds);
}

/// linear: 40 bytes a sample and a weight of 8 to 16 bytes a sample; relu: 16 to 16 bytes a sample.
Graph two_ops(std::int64_t batch, const std::string& name) {
  GraphBuilder builder(name, "mac");
  const TensorId x = builder.add_tensor({.name = "x", .bytes = Bytes{40 * batch}, .resident = true});
  const TensorId weight = builder.add_tensor({.name = "weight", .bytes = Bytes{8}, .resident = true});
  const TensorId y = builder.add_op_with_output(
      {.name = "fc", .kind = "linear", .cost = Cost{1}, .inputs = {x, weight}, .outputs = {}},
      Bytes{16 * batch});
  builder.add_op_with_output({.name = "act", .kind = "relu", .cost = Cost{1}, .inputs = {y}, .outputs = {}},
                             Bytes{16 * batch});
  return std::move(builder).build().value();
}

Graph two_ops(std::int64_t batch) { return two_ops(batch, fmt::format("two?batch={}", batch)); }

/// With a profile of these entries in a file.
Result<Graph> measured(const Graph& graph, const std::vector<std::string>& entries,
                       std::string_view query = "") {
  const testing::ScratchFolder folder;
  const std::string file = folder.file("p.json", profile_of(entries));
  return with_cost_model(graph, fmt::format("profile:{}{}", file, query));
}

std::vector<std::int64_t> costs(const Result<Graph>& graph) {
  std::vector<std::int64_t> costs;
  for (const OpId op : graph->ops()) costs.push_back(graph->cost(op).count());
  return costs;
}

std::string why_not(const Result<Graph>& graph) { return graph ? "it has costs" : graph.error().message; }

std::string parse_error(const std::string& text) {
  const Result<Profile> profile = parse_profile(text, "p.json");
  return profile ? "it is a profile" : profile.error().message;
}

std::string entry_error(const std::string& members) { return parse_error(profile_of({"{" + members + "}"})); }

std::optional<Cost> fitted(const std::map<std::int64_t, std::int64_t>& points, std::int64_t batch) {
  Profile::Series series;
  for (const auto& [at, nanoseconds] : points) series.by_batch[at] = {nanoseconds, 0};
  return time_at(series, batch);
}

TEST(Profile, TakesTheTimeMeasuredAtTheGraphsBatch) {
  const std::vector<std::string> entries = {op_entry("fc", 2, 900), op_entry("fc", 4, 1000),
                                            op_entry("fc", 8, 5000), op_entry("act", 4, 70)};
  const Result<Graph> graph = measured(two_ops(4), entries);
  EXPECT_THAT(costs(graph), ElementsAre(1000, 70));
  EXPECT_EQ(graph->cost_unit(), "ns");
}

TEST(Profile, ReadsWhatWasMeasured) {
  const Profile profile =
      parse_profile(profile_of({R"({"op": "fc", "batch": 2, "nanoseconds": 900, "spread": 15})",
                                op_entry("fc", 4, 1000),
                                R"({"kind": "relu", "shape": "16n->16n", "batch": 1, "nanoseconds": 7})"}),
                    "p.json")
          .value();
  EXPECT_EQ(profile.device, "test");
  ASSERT_EQ(profile.series.size(), 2U);
  EXPECT_EQ(profile.series[0].op, "fc");
  EXPECT_EQ(profile.series[0].by_batch.at(2), (Profile::Measurement{900, 15}));
  EXPECT_EQ(profile.series[0].by_batch.at(4), (Profile::Measurement{1000, 0}));
  EXPECT_EQ(profile.series[1].kind, "relu");
  EXPECT_EQ(profile.series[1].shape, "16n->16n");
}

TEST(Profile, FitsALineThroughOtherBatches) {
  EXPECT_EQ(fitted({{1, 110}, {2, 120}}, 5), Cost{150});  // 100 + 10 x 5
  // Means 2 and 12, slope ((-1)(-2) + 0 + 1 x 0) / 2 = 1: 12 + 1 x (4 - 2).
  EXPECT_EQ(fitted({{1, 10}, {2, 14}, {3, 12}}, 4), Cost{14});
  // Means 3 and 25, slope 20 / 8 = 2.5 over -2..2 and -5..5: 25 + 2.5 x (4 - 3) = 27.5.
  EXPECT_EQ(fitted({{1, 20}, {5, 30}}, 4), Cost{28});
  EXPECT_EQ(fitted({{1, 10}, {2, 14}, {3, 12}}, 2), Cost{14});  // measured, though the line says 12
}

TEST(Profile, NeverFitsATimeBelowZero) {
  EXPECT_EQ(fitted({{1, 100}, {2, 10}}, 3), Cost{0});  // 55 - 90 x 1.5 = -80
}

TEST(Profile, RefusesAFitPastTheLargestTotal) {
  // 2^61 + 2^62 x (2^30 - 1.5): no number of 64 bits.
  const std::vector<std::string> entries = {op_entry("fc", 1, 0), op_entry("fc", 2, kLargestTotal),
                                            op_entry("act", 1, 0), op_entry("act", 2, 0)};
  EXPECT_THAT(why_not(measured(two_ops(4), entries, "?batch=1073741824")), HasSubstr("more than 2^62"));
}

TEST(Profile, FindsNoTimeInOneOtherBatch) {
  EXPECT_EQ(fitted({{8, 100}}, 4), std::nullopt);
  EXPECT_EQ(fitted({{8, 100}}, 8), Cost{100});
}

TEST(Profile, FindsOpsByKindAndShapeAtTheGraphsBatch) {
  const std::vector<std::string> entries = {
      shape_entry("linear", "40n,8->16n", 1, 110), shape_entry("linear", "40n,8->16n", 2, 120),
      shape_entry("relu", "16n->16n", 1, 30),      shape_entry("relu", "16n->16n", 2, 50),
      shape_entry("relu", "40n->40n", 1, 1),       shape_entry("gelu", "16n->16n", 1, 1)};
  EXPECT_THAT(costs(measured(two_ops(2), entries)), ElementsAre(120, 50));
  EXPECT_THAT(costs(measured(two_ops(10), entries)), ElementsAre(200, 210));  // 100 + 10 x 10; 10 + 20 x 10
}

TEST(Profile, PrefersAnOpsOwnEntry) {
  EXPECT_THAT(costs(measured(two_ops(1), {shape_entry("linear", "40n,8->16n", 1, 110), op_entry("fc", 1, 99),
                                          op_entry("act", 1, 5)})),
              ElementsAre(99, 5));
}

TEST(Profile, TakesTheFirstOfTwoShapesThatFit) {
  // At batch 2 both are 32 -> 32.
  EXPECT_THAT(costs(measured(two_ops(2), {op_entry("fc", 2, 1), shape_entry("relu", "32->32", 2, 7),
                                          shape_entry("relu", "16n->16n", 2, 8)})),
              ElementsAre(1, 7));
}

TEST(Profile, EvaluatesShapesAtABatch) {
  EXPECT_EQ(shape_at("4n,8->4n", 10), "40,8->40");
  EXPECT_EQ(shape_at("->0,5n", 3), "->0,15");
  EXPECT_EQ(shape_at("4611686018427387904n->1", 1 << 30),
            "9223372036854775807->1");  // 2^62 x 2^30: no tensor's
  for (const char* const wrong : {"", "4", "->", "4->", ",4->4", "4,->4", "-4->4", "+4->4", "4 ->4", "n->4",
                                  "4nn->4", "4.5->4", "4->4->4", "9223372036854775807->4"}) {
    EXPECT_EQ(shape_at(wrong, 2), std::nullopt) << wrong;
  }
}

TEST(Profile, KnowsTheBatchFromTheGraphsNameOrTheSpec) {
  EXPECT_EQ(batch_in_name("resnet50?batch=32"), 32);
  EXPECT_EQ(batch_in_name("resnet50?size=64&batch=8&classes=10"), 8);
  for (const char* const none : {"", "resnet50", "batch=3", "x?minibatch=3", "x?batch=", "x?batch=0",
                                 "x?batch=-1", "x?batch=1e3", "x?batch=1073741825"}) {
    EXPECT_EQ(batch_in_name(none), std::nullopt) << none;
  }

  const std::vector<std::string> entries = {op_entry("fc", 2, 120), op_entry("fc", 4, 140),
                                            op_entry("act", 2, 1), op_entry("act", 4, 2)};
  EXPECT_THAT(costs(measured(two_ops(2), entries, "?batch=4")), ElementsAre(140, 2));
  EXPECT_THAT(costs(measured(two_ops(2, "a name"), entries, "?batch=2")), ElementsAre(120, 1));
  EXPECT_THAT(why_not(measured(two_ops(2, "a name"), entries)),
              HasSubstr("the batch of graph 'a name' is unknown; write profile:FILE?batch=B"));
  for (const char* const wrong : {"?batch=", "?batch=0", "?batch=two", "?batch=1073741825"}) {
    EXPECT_THAT(why_not(measured(two_ops(2), entries, wrong)),
                HasSubstr("batch must be a whole number from 1 to 1073741824, got '"));
  }
}

TEST(Profile, NamesTheFirstOpsThatItLacksAndHowMany) {
  EXPECT_THAT(why_not(measured(two_ops(4), {op_entry("act", 4, 1)})),
              HasSubstr("no measurement of 1 op ('fc'); measure them at batch 4, or at two batch sizes"));
  EXPECT_THAT(
      why_not(measured(two_ops(4), {op_entry("act", 8, 1)})),
      HasSubstr("no measurement of 1 op ('fc'), and only one measurement, at another batch, of 1 op"));
  EXPECT_THAT(why_not(measured(zoo::build("vgg16?batch=2").value(), {op_entry("fc1", 2, 1)})),
              HasSubstr("no measurement of 44 ops ('block1_conv1', 'block1_conv2', 'block1_pool', ...);"));
}

TEST(Profile, ReportsTheFileThatItCannotRead) {
  EXPECT_THAT(why_not(with_cost_model(two_ops(1), "profile:no/such/file.json")),
              AllOf(HasSubstr("no/such/file.json"), Not(HasSubstr("cost model"))));
  EXPECT_THAT(why_not(with_cost_model(two_ops(1), "profile:")), HasSubstr("no file is given"));
  EXPECT_THAT(why_not(with_cost_model(two_ops(1), "profile")), HasSubstr("no file is given"));
}

TEST(Profile, RefusesWhatIsNoProfile) {
  EXPECT_THAT(parse_error(""), HasSubstr("the file is empty"));
  EXPECT_THAT(parse_error("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(parse_error(R"({"format": "checkmate.graph"})"), HasSubstr("another kind of file"));
  EXPECT_THAT(parse_error(R"({"format": "checkmate.profile", "version": 2})"), HasSubstr("reads version 1"));
  EXPECT_THAT(parse_error(R"({"format": "checkmate.profile", "version": 1, "unit": "us"})"),
              HasSubstr("p.json:1: $.unit: expected \"ns\""));
  EXPECT_THAT(parse_error(R"({"format": "checkmate.profile", "version": 1, "unit": "ns", "entries": []})"),
              HasSubstr("'device' is missing"));
  EXPECT_THAT(parse_error(profile_of({}) + "x"), HasSubstr("p.json"));
}

TEST(Profile, RefusesAWrongEntryAndSaysWhere) {
  EXPECT_THAT(entry_error(R"("op": "a", "nanoseconds": 1)"),
              HasSubstr("p.json:2: $.entries[0]: the member 'batch' is missing"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 1)"), HasSubstr("'nanoseconds' is missing"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 0, "nanoseconds": 1)"),
              HasSubstr("$.entries[0].batch: expected at least 1, got 0"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 1073741825, "nanoseconds": 1)"),
              HasSubstr("expected at most 1073741824"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 1, "nanoseconds": -1)"),
              HasSubstr("$.entries[0].nanoseconds"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 1, "nanoseconds": 1.5)"),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 1, "nanoseconds": 1, "spread": -1)"), HasSubstr(".spread"));
  EXPECT_THAT(entry_error(R"("op": "", "batch": 1, "nanoseconds": 1)"), HasSubstr("an op without a name"));
  EXPECT_THAT(entry_error(R"("kind": "a", "shape": "4 to 8", "batch": 1, "nanoseconds": 1)"),
              HasSubstr("$.entries[0].shape: expected a shape such as \"4096n,256->1024n\", got '4 to 8'"));
  EXPECT_THAT(entry_error(R"("op": "a", "batch": 1, "nanoseconds": 1, "median": 1)"),
              HasSubstr("unknown member"));
  for (const char* const who : {"", R"("kind": "a",)", R"("shape": "4->4",)", R"("op": "a", "kind": "a",)",
                                R"("op": "a", "kind": "a", "shape": "4->4",)"}) {
    EXPECT_THAT(entry_error(who + std::string(R"("batch": 1, "nanoseconds": 1)")),
                HasSubstr("either an \"op\", or a \"kind\" and a \"shape\""));
  }
  EXPECT_THAT(parse_error(profile_of({op_entry("a", 1, 5), op_entry("a", 2, 6), op_entry("a", 1, 7)})),
              HasSubstr("$.entries[2]: measured twice at batch 1"));
}

RC_GTEST_PROP(ProfileProperty, ReproducesALineExactly, ()) {
  const auto fixed = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const auto slope = *rc::gen::inRange<std::int64_t>(0, 100'000'000);
  const auto batches =
      *rc::gen::container<std::set<std::int64_t>>(4, rc::gen::inRange<std::int64_t>(1, 1000));
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 5000);
  RC_PRE(batches.size() > 1);
  std::map<std::int64_t, std::int64_t> points;
  for (const std::int64_t at : batches) points[at] = fixed + slope * at;
  RC_ASSERT(fitted(points, batch) == Cost{fixed + slope * batch});
}

}  // namespace
}  // namespace checkmate
