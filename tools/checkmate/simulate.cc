#include <fmt/format.h>

#include <algorithm>
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
  bool json = false;
};

void print_json(const Graph& graph, const Simulation& run) {
  JsonWriter json;
  json.begin_object().member("steps", run.memory.size()).member("cost", run.cost.count());
  json.member("overhead", overhead(graph, run.cost)).member("peak_bytes", run.peak.count());
  json.member("peak_step", run.peak_step).key("memory_bytes").begin_array();
  for (const Bytes memory : run.memory) json.value(memory.count());
  json.end_array().key("run_counts").begin_array();
  for (const std::uint32_t runs : run.run_counts) json.value(runs);
  json.end_array().end_object();
  print_json_line(json.text());
}

void print_text(const Graph& graph, const Plan& plan, const Simulation& run) {
  const OpId at_peak = plan.steps[run.peak_step];
  print_fact("steps", fmt::format("{} for {}", grouped(static_cast<std::int64_t>(plan.steps.size())),
                                  counted(graph.op_count(), "op")));
  print_fact("cost", to_string(run.cost, graph.cost_unit()));
  print_fact("overhead", times(overhead(graph, run.cost)));
  print_fact("peak", exact(run.peak));
  print_fact("  at",
             fmt::format("step {}, op {} {}", run.peak_step, at_peak.value, in_quotes(graph.name(at_peak))));

  const std::vector<LiveInterval> there = explain(graph, plan)->at_peak;
  constexpr std::size_t kLargest = 8;
  fmt::print("\nlargest of {} at the peak\n", counted(there.size(), "tensor"));
  Table table({"tensor", "bytes", "made at step", "freed after"});
  for (std::size_t i = 0; i < std::min(there.size(), kLargest); ++i) {
    table.add({printable(graph.name(there[i].tensor)), to_string(graph.bytes(there[i].tensor)),
               std::to_string(there[i].first), std::to_string(there[i].last)});
  }
  table.print();
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const PlanRecord record, read_plan(flags.plan, graph));
  const Result<Simulation> simulation = simulate(graph, record.plan);
  if (!simulation) return simulation.error().at(printable(flags.plan, 4096));
  if (flags.json) {
    print_json(graph, *simulation);
  } else {
    print_text(graph, record.plan, *simulation);
  }
  return kDone;
}

}  // namespace

void add_simulate(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("simulate", "Simulates a plan: memory at every step, peak and cost",
                         [flags] { return run(*flags); });
  verb.example("checkmate simulate 'zoo:unet?batch=32' --plan plan.json");
  flags->graph.add_to(verb);
  verb.option("--plan", flags->plan, "plan file", Verb::Need::kRequired);
  verb.flag("--json", flags->json, "print one JSON object, with the memory of every step");
}

}  // namespace checkmate::tool
