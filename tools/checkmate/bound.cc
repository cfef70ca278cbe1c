#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "flags.h"
#include "interrupt.h"
#include "io/json_writer.h"

namespace checkmate::tool {
namespace {

struct Flags {
  ProblemFlags problem;
  std::string method = "auto";
  bool json = false;
};

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(Problem problem, flags.problem.load());
  auto& [graph, options] = problem;
  options.method = flags.method;
  const Interrupt interrupt;
  CHECKMATE_TRY(const SolveResult result, solve(graph, options, interrupt.token()));
  if (result.status == Status::kInfeasible) {
    tell(fmt::format("checkmate: no plan fits: {}\n", result.detail));
    return kInfeasible;
  }
  // What holds for every plan comes first. A stage bound takes its place only where nothing else is proven.
  const bool more = result.stage_lower_bound && *result.stage_lower_bound > result.lower_bound;
  const bool staged = more && result.lower_bound == graph.keep_all_cost();
  const Cost bound = staged ? *result.stage_lower_bound : result.lower_bound;
  const std::string_view kind = staged ? "stage" : "order";
  if (flags.json) {
    JsonWriter json;
    json.begin_object().member("lower_bound", bound.count()).member("overhead", overhead(graph, bound));
    json.member("kind", kind);
    if (more) json.member("stage_lower_bound", result.stage_lower_bound->count());
    json.member("seconds", result.seconds).end_object();
    print_json_line(json.text());
    return kDone;
  }
  print_fact("lower bound", to_string(bound, graph.cost_unit()));
  print_fact("overhead", times(overhead(graph, bound)));
  print_fact("holds for", staged
                              ? "plans of the paper's class: each op at most once per stage, in index order"
                              : "every plan of the order");
  if (more && !staged) {
    print_fact("stage bound",
               times(overhead(graph, *result.stage_lower_bound)) + " for plans of the paper's class");
  }
  print_fact("time", seconds_text(result.seconds));
  return kDone;
}

}  // namespace

void add_bound(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("bound", "Computes a lower bound on cost", [flags] { return run(*flags); });
  verb.example("checkmate bound 'zoo:vgg16?batch=256' --budget 90%");
  flags->problem.add_to(verb);
  verb.option("-m,--method", flags->method,
              "any method that proves a lower bound; auto takes the best of all");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
