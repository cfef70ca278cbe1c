#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/try.h"
#include "interrupt.h"
#include "solve_json.h"
#include "sweep_flags.h"

namespace checkmate::tool {
namespace {

struct Flags {
  GraphFlags graph;
  SweepFlags sweep;
  SearchFlags search;
  std::string output = "-";
  bool json = false;
};

void print_table(const Graph& graph, const std::vector<SweepPoint>& points) {
  Table table({"method", "budget", "status", "overhead", "gap"});
  for (const auto& [budget, method, result] : points) {
    const bool found = result.plan.has_value();
    table.add({method, to_string(budget), std::string(to_string(result.status)),
               found ? times(overhead(graph, *result.cost)) : "-",
               found ? percent_at_most(relative_gap(*result.cost, result.lower_bound)) : "-"});
  }
  table.print();
}

std::string json_of(const Graph& graph, const SolveOptions& solve_options,
                    const std::vector<SweepPoint>& points) {
  JsonWriter json;
  json.begin_object().member("graph", graph.name()).key("points").begin_array();
  for (const SweepPoint& point : points) {
    SolveOptions options = solve_options;
    options.budget = point.budget;
    json.line().begin_object().member("method", point.method).key("answer");
    write_answer(json, graph, options, point.result);
    json.end_object();
  }
  json.line().end_array().end_object();
  return json.take() + "\n";
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(folder_is_there(flags.output));
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const SolveOptions search, flags.search.options());
  CHECKMATE_TRY(const SweepOptions options, flags.sweep.options(graph, search));
  const Interrupt interrupt;
  CHECKMATE_TRY(const std::vector<SweepPoint> points, watched_sweep(graph, options, interrupt.token()));
  const bool in_first = points.empty() || (points.size() == 1 && !points[0].result.plan);
  if (interrupt.token().stop_requested() && in_first) {
    tell("checkmate: no plan yet, so nothing was written\n");
    return kNoPlan;
  }
  const std::string text = flags.json ? json_of(graph, search, points) : sweep_to_csv(graph, points);
  CHECKMATE_TRY(write_output(flags.output, text));
  if (flags.output != "-") {
    print_table(graph, points);
    print_written(flags.output, text.size());
  }
  return kDone;
}

}  // namespace

void add_sweep(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  flags->sweep.methods = "auto";
  Verb verb =
      parser.add("sweep", "Solves for several budgets: cost against memory", [flags] { return run(*flags); });
  verb.example(
      "checkmate sweep 'zoo:vgg16?batch=256' --budgets 100%..80%:5% --methods chen-greedy,lp-round -o "
      "vgg16.csv");
  flags->graph.add_to(verb);
  flags->sweep.add_to(verb);
  flags->search.add_to(verb);
  verb.option("-o,--output", flags->output, "output file; - for the standard output");
  verb.flag("--json", flags->json, "write JSON instead of CSV");
}

}  // namespace checkmate::tool
