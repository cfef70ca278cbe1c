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
  GraphFlags graph;
  std::string order = "fixed";
  double time_limit = LeastBudgetOptions{}.time_limit.count();
  double gap = LeastBudgetOptions{}.gap;
  int threads = LeastBudgetOptions{}.threads;
  std::int64_t seed = static_cast<std::int64_t>(LeastBudgetOptions{}.seed);
  std::string plan;
  bool json = false;

  Result<LeastBudgetOptions> options() const {
    // Seconds, threads and so on mean the same as for all searches, and are checked in the same place.
    SearchFlags flags;
    flags.order = order;
    flags.time_limit = time_limit;
    flags.gap = gap;
    flags.threads = threads;
    flags.seed = seed;
    CHECKMATE_TRY(const SolveOptions checked, flags.options());
    return LeastBudgetOptions{.order = checked.order,
                              .time_limit = checked.time_limit,
                              .threads = checked.threads,
                              .seed = checked.seed,
                              .gap = checked.gap};
  }
};

double gap_of(const LeastBudget& least) {
  return least.exact() ? 0
                       : static_cast<double>((least.sufficient - least.needed).count()) /
                             static_cast<double>(least.sufficient.count());
}

std::string text_of(const Graph& graph, Bytes bytes) {
  const auto peak = static_cast<double>(keep_all_peak(graph).count());
  const double share = peak == 0 ? 1 : static_cast<double>((bytes - graph.fixed_bytes()).count()) / peak;
  return fmt::format("{} ({} bytes), {} of keep-all", to_string(bytes), grouped(bytes.count()),
                     percent(share));
}

void print_json(const Graph& graph, const LeastBudget& least) {
  JsonWriter json;
  json.begin_object().member("needed_bytes", least.needed.count());
  json.member("sufficient_bytes", least.sufficient.count()).member("exact", least.exact());
  json.member("gap", gap_of(least)).member("because", least.detail);
  json.member("method", least.method).member("cost", least.cost.count());
  json.member("overhead", overhead(graph, least.cost)).member("steps", least.plan.steps.size());
  json.member("seconds", least.seconds).end_object();
  print_json_line(json.text());
}

void print_text(const Graph& graph, const LeastBudget& least) {
  print_fact("needed", text_of(graph, least.needed) + ", proven");
  print_fact("  because", least.detail);
  print_fact("sufficient", text_of(graph, least.sufficient) + ", a plan is known");
  print_fact("gap",
             least.exact() ? "0: this is the least budget" : percent_at_most(gap_of(least)) + " at most");
  print_fact("overhead", times(overhead(graph, least.cost)) + ", of that plan");
  print_fact("method", least.method);
  print_fact("time", seconds_text(least.seconds));
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(folder_is_there(flags.plan));
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const LeastBudgetOptions options, flags.options());
  const Interrupt interrupt;
  CHECKMATE_TRY(const LeastBudget least, least_budget(graph, options, interrupt.token()));
  if (!flags.plan.empty()) {
    const SolveOptions as_solved{.budget = least.sufficient, .order = options.order};
    SolveResult result;
    result.status = Status::kFeasible;
    result.method = least.method;
    result.plan = least.plan;
    result.cost = least.cost;
    result.peak = least.sufficient;
    result.lower_bound = graph.keep_all_cost();
    CHECKMATE_TRY(write_output(flags.plan, plan_to_json(*record_of(graph, as_solved, result))));
    if (flags.plan == "-") return kDone;
  }
  if (flags.json) {
    print_json(graph, least);
  } else {
    print_text(graph, least);
  }
  return kDone;
}

}  // namespace

void add_least_budget(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("least-budget", "Finds the smallest budget that has a plan",
                         [flags] { return run(*flags); });
  verb.example("checkmate least-budget 'zoo:resnet50?batch=256' --plan plan.json");
  flags->graph.add_to(verb);
  verb.option("--order", flags->order, "fixed or free: whether first runs keep the graph's order");
  verb.option("--time-limit", flags->time_limit, "seconds");
  verb.option("--gap", flags->gap, "stop when what suffices is within this share of what is needed");
  verb.option("--threads", flags->threads, "maximum number of threads");
  verb.option("--seed", flags->seed, "for what is tried at random");
  verb.option("--plan", flags->plan, "output file for the plan; - for the standard output");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
