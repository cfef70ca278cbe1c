#include <fmt/format.h>

#include <memory>

#include "answer.h"
#include "console.h"
#include "interrupt.h"
#include "text.h"
#include "verbs.h"

namespace checkmate::tool {
namespace {

struct Flags {
  GraphFlags graph;
  std::string budget;
  std::string method = "auto";
  SearchFlags search;
  std::string plan;
  bool json = false;
};

void print_answer(const Graph& graph, const SolveOptions& options, const SolveResult& result) {
  print_fact("status", to_string(result.status));
  print_fact("method", result.method);
  print_fact("budget", to_string(options.budget));
  if (result.plan) {
    print_fact("peak", to_string(result.peak));
    print_fact("cost", fmt::format("{} {}", grouped(result.cost.count()), printable(graph.cost_unit())));
    print_fact("overhead", times(overhead(graph, result.cost)));
    print_fact("gap", percent(relative_gap(result.cost, result.lower_bound)) + " at most");
    print_fact("steps",
               fmt::format("{} for {}", grouped(static_cast<std::int64_t>(result.plan->steps.size())),
                           counted(graph.op_count(), "op")));
  }
  if (result.status == Status::kInfeasible) print_fact("needs at least", to_string(*result.min_feasible));
  if (!result.detail.empty()) print_fact("because", result.detail);
  print_fact("time", seconds_text(result.seconds));
}

PlanRecord record_of(const Graph& graph, const SolveOptions& options, const SolveResult& result) {
  return {.plan = *result.plan,
          .graph_name = std::string(graph.name()),
          .graph_sha256 = graph_sha256(graph),
          .budget = options.budget,
          .order = options.order,
          .cost = result.cost,
          .peak = result.peak,
          .lower_bound = result.lower_bound,
          .method = result.method,
          .seed = options.seed};
}

std::string method_list() {
  std::string names;
  for (const MethodInfo& method : methods()) names += (names.empty() ? "" : ", ") + std::string(method.name);
  return names;
}

int run(const Flags& flags) {
  const Result<Graph> graph = flags.graph.load();
  if (!graph) return report(graph.error());
  Result<SolveOptions> options = flags.search.options();
  if (!options) return report(options.error());
  const Result<Bytes> budget = parse_budget(*graph, flags.budget);
  if (!budget) return report(budget.error());
  options->budget = *budget;
  options->method = flags.method;
  const Interrupt interrupt;
  const Result<SolveResult> result = solve(*graph, *options, interrupt.token());
  if (!result) return report(result.error());
  if (result->plan && !flags.plan.empty()) {
    const Result<void> written = write_output(flags.plan, plan_to_json(record_of(*graph, *options, *result)));
    if (!written) return report(written.error());
  }
  if (flags.json) {
    JsonWriter json;
    write_answer(json, *graph, *options, *result);
    fmt::print("{}\n", json.text());
  } else if (flags.plan != "-") {
    print_answer(*graph, *options, *result);
  }
  return exit_code_of(result->status);
}

}  // namespace

void add_solve(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("solve", "Finds a plan within a budget", [flags] { return run(*flags); });
  verb.example("checkmate solve 'zoo:unet?batch=32' --budget 60% --plan plan.json");
  flags->graph.add_to(verb);
  verb.option("-b,--budget", flags->budget, std::string(kBudgetHelp), Verb::Need::kRequired);
  flags->search.add_to(verb);
  verb.option("-m,--method", flags->method, "how to search: " + method_list());
  verb.option("--plan", flags->plan, "where to write the plan; - for the standard output");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
