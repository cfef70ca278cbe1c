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
  std::string method = "lp-bound";
  bool json = false;
};

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(Problem problem, flags.problem.load());
  auto& [graph, options] = problem;
  options.method = flags.method;
  const Interrupt interrupt;
  CHECKMATE_TRY(const SolveResult result, solve(graph, options, interrupt.token()));
  if (result.status == Status::kInfeasible) {
    fmt::print(stderr, "checkmate: no plan fits: {}\n", result.detail);
    return kInfeasible;
  }
  // The wider class first: a stage bound is shown only where it says more, and under its own name.
  const bool staged = result.stage_lower_bound && *result.stage_lower_bound > result.lower_bound;
  const Cost bound = staged ? *result.stage_lower_bound : result.lower_bound;
  const std::string_view kind = staged ? "stage" : "order";
  if (flags.json) {
    JsonWriter json;
    json.begin_object().member("lower_bound", bound.count()).member("overhead", overhead(graph, bound));
    json.member("kind", kind).member("seconds", result.seconds).end_object();
    fmt::print("{}\n", json.text());
    return kDone;
  }
  print_fact("lower bound", fmt::format("{} {}", grouped(bound.count()), printable(graph.cost_unit())));
  print_fact("overhead", times(overhead(graph, bound)));
  print_fact("holds for", staged
                              ? "plans of the paper's class: each op at most once per stage, in index order"
                              : "every plan of the order");
  print_fact("time", seconds_text(result.seconds));
  return kDone;
}

}  // namespace

void add_bound(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("bound", "Computes a lower bound on cost", [flags] { return run(*flags); });
  verb.example("checkmate bound 'zoo:vgg16?batch=256' --budget 90%");
  flags->problem.add_to(verb);
  verb.option("-m,--method", flags->method, "any method that proves a lower bound");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
