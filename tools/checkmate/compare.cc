#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "commands.h"
#include "console.h"
#include "core/try.h"
#include "flags.h"
#include "interrupt.h"
#include "progress_line.h"
#include "solve_json.h"
#include "sparkline.h"
#include "terminal.h"

namespace checkmate::tool {
namespace {

struct Flags {
  ProblemFlags problem;
  std::string methods;
  bool json = false;
};

std::vector<std::string> row(const Graph& graph, const std::string& method, const SolveResult& result,
                             Bytes keep_all) {
  const auto share = [&](Bytes peak) {
    const auto made = static_cast<double>((peak - graph.fixed_bytes()).count());
    return percent(keep_all == Bytes{0} ? 1 : made / static_cast<double>(keep_all.count()));
  };
  const bool over = !result.plan && result.sufficient;
  const Tint tint = result.plan ? Tint::kGood : over ? Tint::kBad : Tint::kUnsure;
  std::vector<std::string> cells = {method, tinted(over ? "does not fit" : to_string(result.status), tint)};
  if (result.plan) {
    cells.insert(cells.end(),
                 {times(overhead(graph, *result.cost)), to_string(*result.peak), share(*result.peak),
                  percent_at_most(relative_gap(*result.cost, result.lower_bound))});
  } else if (over) {
    cells.insert(cells.end(), {"-", ">= " + to_string(*result.sufficient), share(*result.sufficient), "-"});
  } else {
    cells.insert(cells.end(), {"-", "-", "-", "-"});
  }
  cells.push_back(seconds_text(result.seconds));
  return cells;
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(Problem problem, flags.problem.load());
  auto& [graph, options] = problem;
  CHECKMATE_TRY(const std::vector<std::string> chosen, parse_methods(flags.methods));
  const Interrupt interrupt;
  const Bytes keep_all = keep_all_peak(graph);
  Table table({"method", "status", "overhead", "peak", "of keep-all", "gap", "time"},
              {"of keep-all", "time"});
  std::vector<SweepPoint> points;
  for (const std::string& method : chosen) {
    options.method = method;
    CHECKMATE_TRY(SolveResult result, [&, &graph = graph, &options = options] {
      const ProgressLine line(method + ": ", graph, options);
      return solve(graph, options, interrupt.token());
    }());
    points.push_back({options.budget, method, std::move(result)});
    if (interrupt.token().stop_requested()) break;
  }
  share_bounds(points);
  JsonWriter json;
  json.begin_object().member("graph", graph.name()).member("budget_bytes", options.budget.count());
  json.member("keep_all_peak_bytes", keep_all.count()).member("fixed_bytes", graph.fixed_bytes().count());
  json.key("results").begin_array();
  Status best = Status::kUnknown;
  std::optional<SolveResult> cheapest;
  std::map<std::string, std::vector<std::string>> notes;  // methods by what they say
  for (const auto& [budget, method, result] : points) {
    if (result.plan && (!cheapest || *result.cost < *cheapest->cost)) cheapest = result;
    best = std::min(best, result.status);
    table.add(row(graph, method, result, keep_all));
    if (!result.plan && !result.sufficient) notes[result.detail].push_back(method);
    write_answer(json.line(), graph, options, result);
  }
  json.line().end_array().end_object();
  if (flags.json) {
    print_json_line(json.text());
  } else {
    print_line(fmt::format("budget {}, keep-all {}; both include {} of fixed memory",
                           to_string(options.budget), to_string(keep_all + graph.fixed_bytes()),
                           to_string(graph.fixed_bytes())));
    table.print();
    if (cheapest) {
      fmt::print("\n");
      print_sparklines(graph, *cheapest->plan, options.budget, "cheapest");
    }
    for (const auto& [note, speakers] : notes)
      print_line(fmt::format("{}: {}", fmt::join(speakers, ", "), note));
  }
  return exit_code_of(best);
}

}  // namespace

void add_compare(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("compare", "Runs every method at one budget", [flags] { return run(*flags); });
  verb.example("checkmate compare 'zoo:unet?batch=32' --budget 60%");
  flags->problem.add_to(verb);
  verb.option("--methods", flags->methods,
              "methods to run, separated by commas; by default all that find plans except brute force");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
