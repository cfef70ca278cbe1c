#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "checkmate/simulate.h"
#include "checkmate/validate.h"
#include "io/json_writer.h"
#include "support/graphs.h"
#include "support/program.h"

namespace checkmate {
namespace {

using testing::below;
using testing::random_graph;
using testing::random_steps;

struct Verdict {
  bool runs = false;
  Cost cost;
  Bytes peak;
  bool operator==(const Verdict&) const = default;
};

/// 1,000 graphs of one-output ops without other features, which is what the judge knows, and a plan each:
/// half of them broken.
struct Case {
  Graph graph;
  std::vector<OpId> steps;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    Graph graph = random_graph(seed, 1 + below(random, 30), {});
    std::vector<OpId> steps = random_steps(graph, random, 1.0);
    if (seed % 4 == 1) std::swap(steps[below(random, steps.size())], steps[below(random, steps.size())]);
    if (seed % 4 == 3) steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(below(random, steps.size())));
    all.push_back({std::move(graph), std::move(steps)});
  }
  return all;
}

Verdict ours(const Case& c) {
  const Plan plan = plan_from_steps(c.graph, c.steps).value();
  const Result<Simulation> run = simulate(c.graph, plan);
  const bool valid = validate(c.graph, plan, Bytes{INT64_MAX}, Order::kFree).empty();
  EXPECT_EQ(run.has_value(), valid);
  if (!run) return {};
  EXPECT_TRUE(validate(c.graph, plan, run->peak, Order::kFree).empty());
  return {true, run->cost, run->peak};
}

/// The definition, word for word and slowly: at each step, a value is there if a later step uses it before
/// its next run.
Verdict by_definition(const Case& c) {
  std::set<std::uint32_t> ran;
  Verdict verdict{.runs = true, .cost = {}, .peak = {}};
  for (std::size_t now = 0; now < c.steps.size(); ++now) {
    for (const TensorId input : c.graph.inputs(c.steps[now])) {
      if (!ran.contains(c.graph.producer(input)->value)) return {};
    }
    ran.insert(c.steps[now].value);
    verdict.cost += c.graph.cost(c.steps[now]);
    Bytes memory;
    for (const std::uint32_t op : ran) {
      const TensorId value = c.graph.outputs(OpId{op})[0];
      bool there = c.steps[now].value == op;
      for (std::size_t later = now; later < c.steps.size() && !there; ++later) {
        if (later > now && c.steps[later].value == op) break;
        for (const TensorId input : c.graph.inputs(c.steps[later])) there = there || input == value;
      }
      if (there) memory += c.graph.bytes(value);
    }
    verdict.peak = std::max(verdict.peak, memory);
  }
  return ran.size() == c.graph.op_count() ? verdict : Verdict{};
}

TEST(Simulate, AgreesWithTheDefinitionOnAThousandPlans) {
  std::size_t runnable = 0;
  for (const Case& c : cases()) {
    const Verdict verdict = ours(c);
    ASSERT_EQ(verdict, by_definition(c));
    runnable += verdict.runs ? 1 : 0;
  }
  EXPECT_GT(runnable, 500U);
  EXPECT_LT(runnable, 950U);
}

void write_case(JsonWriter& json, const Case& c) {
  json.line().begin_object().key("graph").begin_object().key("nodes").begin_array();
  for (const OpId op : c.graph.ops()) {
    json.begin_object()
        .member("cost", c.graph.cost(op).count())
        .member("mem", c.graph.bytes(c.graph.outputs(op)[0]).count())
        .end_object();
  }
  json.end_array().key("deps").begin_array();
  for (const OpId op : c.graph.ops()) {
    json.begin_array();
    for (const TensorId input : c.graph.inputs(op)) json.value(c.graph.producer(input)->value);
    json.end_array();
  }
  json.end_array().end_object().key("steps").begin_array();
  for (const OpId op : c.steps) json.value(op.value);
  json.end_array().end_object();
}

TEST(Simulate, AgreesWithTheIndependentJudgeOnAThousandPlans) {
  const std::filesystem::path judge = std::filesystem::path(CHECKMATE_SOURCE_DIR) / ".." / "shared" / "judge";
  if (!std::filesystem::exists(judge / "simulate.py"))
    GTEST_SKIP() << "the judge is not beside this checkout; AgreesWithTheDefinition runs";
  const std::vector<Case> all = cases();
  JsonWriter json;
  json.begin_array();
  for (const Case& c : all) write_case(json, c);
  json.end_array();
  const testing::ScratchFolder folder;
  const std::string file = folder.file("cases.json", json.text());
  const testing::Finished run = testing::run({CHECKMATE_PYTHON, "-c",
                                              "import json, sys\n"
                                              "sys.dont_write_bytecode = True\n"
                                              "sys.path.insert(0, sys.argv[1])\n"
                                              "from simulate import evaluate\n"
                                              "for case in json.load(open(sys.argv[2])):\n"
                                              "  try: print(1, *evaluate(case['graph'], case['steps']))\n"
                                              "  except ValueError: print(0, 0, 0)\n",
                                              judge.string(), file});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::istringstream verdicts(run.out);
  for (const Case& c : all) {
    bool runs = false;
    std::int64_t cost = 0;
    std::int64_t peak = 0;
    ASSERT_TRUE(verdicts >> runs >> cost >> peak);
    ASSERT_EQ(ours(c), (Verdict{runs, Cost{cost}, Bytes{peak}}));
  }
}

}  // namespace
}  // namespace checkmate
