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

/// One line on the terminal, written over again and again.
void print_progress(const Graph& graph, const Progress& progress) {
  std::string line = fmt::format("\r\x1b[K{:.1f} s", progress.seconds);
  if (progress.cost) line += "  best " + times(overhead(graph, *progress.cost));
  if (progress.bound) line += "  bound " + times(overhead(graph, *progress.bound));
  if (progress.cost && progress.bound) {
    line += "  gap " + percent(relative_gap(*progress.cost, std::min(*progress.cost, *progress.bound)));
  }
  fmt::print(stderr, "{}", line);
}

void print_answer(const Graph& graph, const SolveOptions& options, const SolveResult& result) {
  print_fact("status", to_string(result.status));
  print_fact("method", result.method);
  print_fact("order", to_string(options.order));
  print_fact("budget", to_string(options.budget));
  if (result.plan) {
    print_fact("peak", to_string(result.peak));
    print_fact("cost", fmt::format("{} {}", grouped(result.cost.count()), printable(graph.cost_unit())));
    print_fact("overhead", times(overhead(graph, result.cost)));
    print_fact("lower bound", times(overhead(graph, result.lower_bound)));
    print_fact("gap", percent(relative_gap(result.cost, result.lower_bound)) + " at most");
    if (result.stage_lower_bound) {
      print_fact("stage gap", percent(relative_gap(result.cost, *result.stage_lower_bound)) +
                                  " at most, to plans of the paper's class");
    }
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
  if (flags.json && flags.plan == "-") {
    return report({ErrorCode::kInvalidArgument,
                   "--json and --plan - both want the standard output; give the plan a file"});
  }
  const Result<Graph> graph = flags.graph.load();
  if (!graph) return report(graph.error());
  Result<SolveOptions> options = flags.search.options();
  if (!options) return report(options.error());
  const Result<Bytes> budget = parse_budget(*graph, flags.budget);
  if (!budget) return report(budget.error());
  options->budget = *budget;
  options->method = flags.method;
  if (progress_wanted()) {
    options->on_progress = [&](const Progress& progress) { print_progress(*graph, progress); };
  }
  const Interrupt interrupt;
  const Result<SolveResult> result = solve(*graph, *options, interrupt.token());
  if (progress_wanted()) fmt::print(stderr, "\r\x1b[K");
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
