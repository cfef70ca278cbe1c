#include "checkmate/report.h"

#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "flags.h"
#include "interrupt.h"
#include "progress_line.h"
#include "sweep_flags.h"

namespace checkmate::tool {
namespace {

struct Flags {
  GraphFlags graph;
  std::string plan;
  std::string budget;
  std::string method = "auto";
  SearchFlags search;
  SweepFlags sweep;
  double point_time = 1;
  std::string output = "report.html";
};

/// What the page is about: a plan, or why there is none.
struct Subject {
  std::optional<Plan> plan;
  ReportOptions options;
  int exit_code = kDone;
};

Result<Subject> from_file(const Flags& flags, const Graph& graph) {
  CHECKMATE_TRY(PlanRecord record, read_plan(flags.plan, graph));
  return Subject{.plan = std::move(record.plan),
                 .options = {.budget = record.budget,
                             .order = record.order,
                             .method = record.method,
                             .lower_bound = record.lower_bound}};
}

/// Without a plan, prints why on stderr.
Result<Subject> from_search(const Flags& flags, const Graph& graph, SolveOptions options,
                            const std::stop_token& stop) {
  CHECKMATE_TRY(const Bytes budget, parse_budget(graph, flags.budget));
  options.budget = budget;
  options.method = flags.method;
  CHECKMATE_TRY(SolveResult result, [&] {
    const ProgressLine line("", graph, options);
    return solve(graph, options, stop);
  }());
  if (!result.plan) {
    const bool proven = result.status == Status::kInfeasible;
    std::string why = fmt::format("no plan {} {}", proven ? "fits" : "was found within", to_string(budget));
    if (proven) why += fmt::format("; at least {} are needed (proven)", exact(*result.needed));
    if (result.sufficient) why += fmt::format("; {} suffice (a plan is known)", exact(*result.sufficient));
    if (!result.detail.empty()) why += ": " + result.detail;
    tell(fmt::format("checkmate: {}; no report was written\n", why));
  }
  return Subject{.plan = std::move(result.plan),
                 .options = {.budget = budget,
                             .order = options.order,
                             .method = result.method,
                             .lower_bound = result.lower_bound},
                 .exit_code = exit_code_of(result.status)};
}

Result<Subject> subject_of(const Flags& flags, const Graph& graph, const SolveOptions& options,
                           const std::stop_token& stop) {
  if (!flags.plan.empty()) return from_file(flags, graph);
  if (!flags.budget.empty()) return from_search(flags, graph, options, stop);
  return Subject{.plan = keep_all_plan(graph), .options = {.method = "keep-all"}};
}

/// The other methods and budgets that the plan is shown among; nothing where none are wanted.
Result<std::optional<SweepOptions>> surroundings_of(const Flags& flags, const Graph& graph,
                                                    SolveOptions search) {
  if (flags.sweep.methods == "none") return std::optional<SweepOptions>();
  if (!(flags.point_time > 0)) return Error{ErrorCode::kInvalidArgument, "--point-time must be positive"};
  search.time_limit = std::chrono::duration<double>(flags.point_time);
  CHECKMATE_TRY(SweepOptions options, flags.sweep.options(graph, std::move(search)));
  return std::optional(std::move(options));
}

Result<std::vector<ReportPoint>> points_of(const Graph& graph, const Subject& subject, SweepOptions around,
                                           const std::stop_token& stop) {
  around.solve.order = subject.options.order;
  around.solve.start = subject.plan->steps;
  CHECKMATE_TRY(const std::vector<SweepPoint> points, watched_sweep(graph, std::move(around), stop));
  return report_points(points);
}

Result<int> run(const Flags& flags) {
  if (!flags.plan.empty() && !flags.budget.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "give --plan or --budget, not both; a plan file includes its budget"};
  }
  if (flags.budget.empty() && flags.method != "auto")
    return Error{ErrorCode::kInvalidArgument, "--method needs a --budget to search for a plan"};
  CHECKMATE_TRY(folder_is_there(flags.output));
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const SolveOptions options, flags.search.options());
  CHECKMATE_TRY(const std::optional<SweepOptions> around, surroundings_of(flags, graph, options));
  const Interrupt interrupt;
  CHECKMATE_TRY(Subject subject, subject_of(flags, graph, options, interrupt.token()));
  if (!subject.plan) return subject.exit_code;
  // A plan that does not hold is refused before the long part.
  const auto page = [&] { return report_html(graph, *subject.plan, subject.options); };
  if (const Result<std::string> plain = page(); !plain)
    return flags.plan.empty() ? plain.error() : plain.error().at(printable(flags.plan, 4096));
  if (around) {
    CHECKMATE_TRY(std::vector<ReportPoint> points, points_of(graph, subject, *around, interrupt.token()));
    subject.options.points = std::move(points);
  }
  CHECKMATE_TRY(const std::string whole, page());
  CHECKMATE_TRY(write_output(flags.output, whole));
  if (flags.output != "-") print_written(flags.output, whole.size());
  return kDone;
}

}  // namespace

void add_report(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  flags->search.time_limit = 10;
  flags->sweep.budgets = "100%..20%";
  Verb verb = parser.add("report", "Writes a self-contained HTML report about a plan",
                         [flags] { return run(*flags); });
  verb.example("checkmate report 'zoo:unet?batch=32' --budget 60% -o report.html");
  flags->graph.add_to(verb);
  verb.option("--plan", flags->plan, "plan file; without a plan and a budget, the report is about keep-all");
  verb.option("-b,--budget", flags->budget, "instead of a plan: search for one within this budget");
  verb.option("-m,--method", flags->method, "search method");
  flags->search.add_to(verb);
  flags->sweep.add_to(verb);
  verb.option("--point-time", flags->point_time,
              "seconds per method and budget of the comparison; --methods none leaves it out");
  verb.option("-o,--output", flags->output, "output file; - for the standard output");
}

}  // namespace checkmate::tool
