#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "explain_output.h"
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
  std::string method = "auto";
  std::string plan;
  bool explain = false;
  bool json = false;
};

Tint tint_of(Status status) {
  if (status == Status::kInfeasible) return Tint::kBad;
  return status == Status::kUnknown ? Tint::kUnsure : Tint::kGood;
}

void print_answer(const Graph& graph, const SolveOptions& options, const SolveResult& result) {
  print_fact("status", tinted(to_string(result.status), tint_of(result.status)));
  print_fact("method", result.method);
  print_fact("order", to_string(options.order));
  print_fact("budget", to_string(options.budget));
  if (result.plan) {
    print_fact("peak", to_string(*result.peak));
    print_fact("cost", to_string(*result.cost, graph.cost_unit()));
    print_fact("overhead", times(overhead(graph, *result.cost)));
    print_fact("lower bound", times(overhead(graph, result.lower_bound)));
    print_fact("gap", percent_at_most(relative_gap(*result.cost, result.lower_bound)) + " at most");
    if (result.stage_lower_bound) {
      print_fact("stage gap", percent_at_most(relative_gap(*result.cost, *result.stage_lower_bound)) +
                                  " at most, to plans of the paper's class");
    }
    print_fact("steps",
               fmt::format("{} for {}", grouped(static_cast<std::int64_t>(result.plan->steps.size())),
                           counted(graph.op_count(), "op")));
    print_sparklines(graph, *result.plan, options.budget, "plan");
  }
  if (!result.plan && result.needed) print_fact("needed", to_string(*result.needed) + ", proven");
  if (!result.plan && result.sufficient)
    print_fact("sufficient", to_string(*result.sufficient) +
                                 ", a plan is known; checkmate least-budget looks for less and writes it");
  if (!result.detail.empty()) print_fact("because", result.detail);
  print_fact("stopped by", describe(result.stop_reason));
  print_fact("time", seconds_text(result.seconds));
}

std::string method_list() {
  std::string names;
  for (const MethodInfo& method : methods()) names += (names.empty() ? "" : ", ") + std::string(method.name);
  return names;
}

Result<SolveResult> search(Problem& problem, const std::stop_token& stop) {
  const ProgressLine line("", problem.graph, problem.options);
  return solve(problem.graph, problem.options, stop);
}

/// Nothing without a plan.
Result<std::optional<Explained>> explained(Problem& problem, const SolveResult& result,
                                           const std::stop_token& stop) {
  if (!result.plan) return std::optional<Explained>();
  CHECKMATE_TRY(Explanation plan, explain(problem.graph, *result.plan));
  const ProgressLine line("price of memory: ", problem.graph, problem.options);
  CHECKMATE_TRY(PriceOfMemory price, price_of_memory(problem.graph, problem.options, result, stop));
  return std::optional(Explained{std::move(plan), std::move(price)});
}

Result<int> run(const Flags& flags) {
  if (flags.plan == "-" && (flags.json || flags.explain)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--{} and --plan - both write to the standard output; write the plan to a file",
                             flags.json ? "json" : "explain")};
  }
  CHECKMATE_TRY(folder_is_there(flags.plan));
  CHECKMATE_TRY(Problem problem, flags.problem.load());
  const auto& [graph, options] = problem;
  problem.options.method = flags.method;
  const Interrupt interrupt;
  CHECKMATE_TRY(const SolveResult result, search(problem, interrupt.token()));
  if (result.plan && !flags.plan.empty()) {
    CHECKMATE_TRY(write_output(flags.plan, plan_to_json(*record_of(graph, options, result))));
  }
  std::optional<Explained> explanation;
  if (flags.explain) {
    CHECKMATE_TRY(std::optional<Explained> found, explained(problem, result, interrupt.token()));
    explanation = std::move(found);
  }
  if (flags.json) {
    JsonWriter json;
    write_answer_members(json.begin_object(), graph, options, result);
    if (flags.explain) write_explanation(json.key("explanation"), graph, explanation);
    print_json_line(json.end_object().text());
  } else if (flags.plan != "-") {
    print_answer(graph, options, result);
    if (explanation) print_explanation(graph, result, *explanation);
  }
  return exit_code_of(result.status);
}

}  // namespace

void add_solve(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("solve", "Finds a plan within a budget", [flags] { return run(*flags); });
  verb.example("checkmate solve 'zoo:unet?batch=32' --budget 60% --plan plan.json");
  flags->problem.add_to(verb);
  verb.option("-m,--method", flags->method, "search method: " + method_list());
  verb.option("--plan", flags->plan, "output file for the plan; - for the standard output");
  verb.flag(
      "--explain", flags->explain,
      "explain what is recomputed and kept, what fills the peak, and what more or less memory is worth");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
