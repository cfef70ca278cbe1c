#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "flags.h"
#include "io/json_writer.h"

namespace checkmate::tool {
namespace {

struct Flags {
  GraphFlags graph;
  std::string plan;
  std::string budget;
  bool json = false;
};

/// Every way in which the plan breaks the rules or its file's own claims.
std::vector<std::string> complaints(const Graph& graph, const PlanRecord& record, Bytes budget) {
  std::vector<std::string> found;
  for (const Violation& violation : validate(graph, record.plan, budget, record.order))
    found.push_back(describe(graph, violation));
  const Result<Simulation> run = simulate(graph, record.plan);
  if (!run) {
    if (found.empty())
      throw std::logic_error("the validator accepted what the simulator rejected: " + run.error().message);
    return found;
  }
  const auto claim = [&](std::string_view what, std::optional<std::int64_t> claimed, std::int64_t real) {
    if (claimed && *claimed != real)
      found.push_back(fmt::format("the file says {} {}, but it is {}", what, *claimed, real));
  };
  claim("cost", record.cost ? std::optional(record.cost->count()) : std::nullopt, run->cost.count());
  claim("peak_bytes", record.peak ? std::optional(record.peak->count()) : std::nullopt, run->peak.count());
  if (record.lower_bound && *record.lower_bound > run->cost) {
    found.push_back(fmt::format("the file says lower_bound {}, which is above the cost {}",
                                record.lower_bound->count(), run->cost.count()));
  }
  if (record.layout) {
    const Result<void> sound = check_layout(*blocks_of(graph, record.plan), *record.layout);
    if (!sound) found.push_back("layout: " + sound.error().message);
  }
  return found;
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const PlanRecord record, read_plan(flags.plan, graph));
  Bytes budget = record.budget.value_or(Bytes{INT64_MAX});
  if (!flags.budget.empty()) {
    CHECKMATE_TRY(const Bytes given, parse_budget(graph, flags.budget));
    budget = given;
  }
  const std::vector<std::string> found = complaints(graph, record, budget);
  if (flags.json) {
    JsonWriter json;
    json.begin_object().member("valid", found.empty()).key("violations").begin_array();
    for (const std::string& complaint : found) json.value(complaint);
    json.end_array().end_object();
    print_json_line(json.text());
  } else if (found.empty()) {
    const std::string within =
        budget == Bytes{INT64_MAX} ? "no budget was given" : "within " + to_string(budget);
    fmt::print("valid: {}, {}\n", counted(record.plan.steps.size(), "step"), within);
  } else {
    for (const std::string& complaint : found) fmt::print("{}\n", complaint);
    return Error{ErrorCode::kInvalidPlan,
                 fmt::format("{}: {}", printable(flags.plan, 4096), counted(found.size(), "violation"))};
  }
  return found.empty() ? kDone : kBadInput;
}

}  // namespace

void add_validate(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("validate", "Checks a plan against its graph, a budget and its own claims",
                         [flags] { return run(*flags); });
  verb.example("checkmate validate 'zoo:unet?batch=32' --plan plan.json --budget 60%");
  verb.alias("verify");  // as it was called
  flags->graph.add_to(verb);
  verb.option("--plan", flags->plan, "plan file", Verb::Need::kRequired);
  verb.option("-b,--budget", flags->budget, "instead of the file's own budget");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
