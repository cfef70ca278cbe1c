#include "checkmate/plot.h"

#include <fmt/format.h>

#include <memory>

#include "checkmate/file.h"
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

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// Where the picture goes, and its looks.
struct PictureFlags {
  std::string output;
  std::string title;
  double width = 0;
  double height = 0;

  void add_to(Verb& verb) {
    verb.option("-o,--output", output, "output file; its name must end in .svg, .png or .pdf",
                Verb::Need::kRequired);
    verb.option("--title", title, "title of the picture, instead of the default");
    verb.option("--width", width, "in points (1/72 inch); 0: depends on the picture");
    verb.option("--height", height, "in points; 0: depends on the picture");
  }
  Result<PictureOptions> options(const std::string& own_title = "") const {
    const Result<PictureFormat> format = picture_format(output);
    if (!format) return format.error().at("--output");
    CHECKMATE_TRY(folder_is_there(output));
    return PictureOptions{
        .format = *format, .title = title.empty() ? own_title : title, .width = width, .height = height};
  }
  Result<int> write(const Result<std::string>& drawn) const {
    CHECKMATE_TRY(const std::string picture, drawn);
    CHECKMATE_TRY(write_file(output, picture));
    print_written(output, picture.size());
    return kDone;
  }
};

/// A plan from a file, or found now.
struct PlanFlags {
  GraphFlags graph;
  std::string plan;
  std::string budget;
  std::string method = "auto";
  SearchFlags search;
  PictureFlags picture;

  void add_to(Verb& verb) {
    graph.add_to(verb);
    verb.option("--plan", plan, "plan file; without it, a plan is searched for");
    verb.option("-b,--budget", budget, "bytes for everything, or a share of keep-all's peak (60%)");
    verb.option("-m,--method", method, "search method");
    picture.add_to(verb);
    search.add_to(verb);
  }
};

struct Drawn {
  Plan plan;
  std::optional<Bytes> budget;
};
/// What to draw, or the exit code where there is nothing.
struct Outcome {
  std::optional<Drawn> drawn;
  int exit_code = kDone;
};

Result<Outcome> searched(const PlanFlags& flags, const Graph& graph, Bytes budget) {
  CHECKMATE_TRY(SolveOptions options, flags.search.options());
  options.budget = budget;
  options.method = flags.method;
  const Interrupt interrupt;
  const auto search = [&] {
    const ProgressLine line("", graph, options);
    return solve(graph, options, interrupt.token());
  };
  CHECKMATE_TRY(SolveResult result, search());
  if (result.plan) return Outcome{.drawn = Drawn{std::move(*result.plan), budget}};
  print_error(wrong(fmt::format("no plan to draw: {}", result.detail)));
  return Outcome{.drawn = {}, .exit_code = exit_code_of(result.status)};
}

Result<Outcome> plan_of(const PlanFlags& flags, const Graph& graph) {
  std::optional<Bytes> budget;
  if (!flags.budget.empty()) {
    CHECKMATE_TRY(budget, parse_budget(graph, flags.budget));
  }
  if (flags.plan.empty() && !budget) return wrong("give a --plan, or a --budget to search for one");
  if (flags.plan.empty()) return searched(flags, graph, *budget);
  CHECKMATE_TRY(PlanRecord record, read_plan(flags.plan, graph));
  return Outcome{.drawn = Drawn{std::move(record.plan), budget ? budget : record.budget}};
}

using Picture = Result<std::string> (*)(const Graph& graph, const Drawn& drawn,
                                        const PictureOptions& options);

Result<int> draw(const PlanFlags& flags, Picture picture) {
  CHECKMATE_TRY(const PictureOptions options, flags.picture.options());
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const Outcome found, plan_of(flags, graph));
  if (!found.drawn) return found.exit_code;
  return flags.picture.write(picture(graph, *found.drawn, options));
}

Result<std::string> timeline(const Graph& graph, const Drawn& drawn, const PictureOptions& options) {
  return plot_timeline(graph, drawn.plan, drawn.budget, options);
}

Result<std::string> map(const Graph& graph, const Drawn& drawn, const PictureOptions& options) {
  CHECKMATE_TRY(StageMap stages, stage_map(graph, drawn.plan));
  const MapPanel panel = {printable(graph.name(), 200), std::move(stages)};
  return plot_map({&panel, 1}, options);
}

struct TradeoffFlags {
  std::vector<std::string> graph;
  std::string costs = "file";
  std::string from;
  SweepFlags sweep;
  SearchFlags search;
  PictureFlags picture;
};

Result<Tradeoff> swept(const TradeoffFlags& flags, std::string& name) {
  CHECKMATE_TRY(const Graph graph, GraphFlags{flags.graph[0], flags.costs}.load());
  name = printable(graph.name(), 200);
  CHECKMATE_TRY(const SolveOptions search, flags.search.options());
  CHECKMATE_TRY(const SweepOptions options, flags.sweep.options(graph, search));
  const Interrupt interrupt;
  CHECKMATE_TRY(const std::vector<SweepPoint> points, watched_sweep(graph, options, interrupt.token()));
  return tradeoff_of(graph, points);
}

Result<int> draw_tradeoff(const TradeoffFlags& flags) {
  if (flags.from.empty() ? flags.graph.size() != 1 : !flags.graph.empty())
    return wrong("give one graph, or --from with a table of checkmate sweep");
  CHECKMATE_TRY(flags.picture.options());
  std::string name;
  CHECKMATE_TRY(const Tradeoff tradeoff, [&]() -> Result<Tradeoff> {
    if (flags.from.empty()) return swept(flags, name);
    const Result<std::string> text = read_file(flags.from);
    return text ? parse_tradeoff(*text, printable(flags.from, 4096)) : text.error();
  }());
  const auto has_plan = [](const Tradeoff::Method& method) { return !method.points.empty(); };
  if (std::none_of(tradeoff.methods.begin(), tradeoff.methods.end(), has_plan)) {
    print_error(wrong("no method has a plan within any of the budgets; no picture was written"));
    return kNoPlan;
  }
  return flags.picture.write(plot_tradeoff(tradeoff, *flags.picture.options(name)));
}

struct BatchFlags {
  std::vector<std::string> networks;
  std::string costs = "file";
  std::string from;
  std::string memory;
  double extra_forward = 1;
  std::string methods = "keep-all,linear-greedy,auto";
  SearchFlags search;
  PictureFlags picture;
};

Result<std::vector<BatchBar>> largest_batches(const BatchFlags& flags, const std::stop_token& stop) {
  const Result<Bytes> memory = parse_bytes(flags.memory);
  if (!memory) return memory.error().at("--memory");
  CHECKMATE_TRY(SolveOptions options, flags.search.options());
  CHECKMATE_TRY(const std::vector<std::string> chosen, parse_methods(flags.methods));
  std::vector<BatchBar> bars;
  for (const std::string& network : flags.networks) {
    CHECKMATE_TRY(const auto build, by_batch(network, flags.costs));
    for (const std::string& method : chosen) {
      options.method = method;
      CHECKMATE_TRY(
          const MaxBatch found,
          max_batch(build, {.memory = *memory, .extra_forward = flags.extra_forward, .solve = options},
                    stop));
      if (stop.stop_requested()) return bars;
      if (progress_wanted()) tell(fmt::format("{}, {}: {}\n", network, method, found.batch));
      bars.push_back({network.substr(4), method, found.batch});
    }
  }
  return bars;
}

Result<int> draw_max_batch(const BatchFlags& flags) {
  if (flags.from.empty() ? flags.networks.empty() || flags.memory.empty() : !flags.networks.empty())
    return wrong("give networks and --memory, or --from with a table of network, method, batch");
  if (!(flags.extra_forward >= 0)) return wrong("--extra-forward must be 0 or more");
  CHECKMATE_TRY(const PictureOptions options,
                flags.picture.options(flags.memory.empty() ? "" : "Largest batch in " + flags.memory));
  const Interrupt interrupt;
  CHECKMATE_TRY(const std::vector<BatchBar> bars, [&]() -> Result<std::vector<BatchBar>> {
    if (flags.from.empty()) return largest_batches(flags, interrupt.token());
    const Result<std::string> text = read_file(flags.from);
    return text ? parse_batches(*text, printable(flags.from, 4096)) : text.error();
  }());
  if (interrupt.token().stop_requested()) {
    tell("checkmate: interrupted; no picture was written\n");
    return kNoPlan;
  }
  return flags.picture.write(plot_max_batch(bars, options));
}

void add_tradeoff(Parser& parser) {
  auto flags = std::make_shared<TradeoffFlags>();
  flags->search.time_limit = 10;
  Verb verb = parser.add("plot tradeoff", "Draws overhead against budget for several methods, with the bound",
                         [flags] { return draw_tradeoff(*flags); });
  verb.example(
      "checkmate plot tradeoff 'zoo:vgg16?batch=256' --methods chen-greedy,lp-round,auto -o vgg16.svg");
  verb.arguments("GRAPH", flags->graph, "a graph file, or zoo:NAME?key=value&... (see checkmate zoo)");
  verb.option("--from", flags->from, "a table written by checkmate sweep, instead of a graph");
  verb.option("--costs", flags->costs, "file, flops, roofline:DEVICE[:TYPE] or profile:FILE");
  flags->sweep.add_to(verb);
  flags->picture.add_to(verb);
  flags->search.add_to(verb);
}

void add_batches(Parser& parser) {
  auto flags = std::make_shared<BatchFlags>();
  Verb verb = parser.add("plot max-batch", "Draws the largest batch of each network and method as bars",
                         [flags] { return draw_max_batch(*flags); });
  verb.example("checkmate plot max-batch zoo:vgg19 zoo:unet --memory 16GB -o batches.svg");
  verb.arguments("NETWORK", flags->networks, "zoo:NAME?key=value&... without batch, one or more");
  verb.option("--from", flags->from,
              "a table with the columns network, method and batch, instead of networks");
  verb.option("--costs", flags->costs, "file, flops, roofline:DEVICE[:TYPE] or profile:FILE");
  verb.option("--memory", flags->memory, "bytes for everything, such as 16GB");
  verb.option("--extra-forward", flags->extra_forward, "how many extra forward passes a plan may cost");
  verb.option("--methods", flags->methods, "methods to compare, separated by commas");
  flags->picture.add_to(verb);
  flags->search.add_to(verb);
}

}  // namespace

void add_plot(Parser& parser) {
  parser.add_group("plot", "Draws a picture: timeline, map, tradeoff or max-batch")
      .example("checkmate plot timeline 'zoo:unet?batch=32' --budget 60% -o unet.svg");
  const auto add = [&](const std::string& verb_name, const char* summary, Picture picture) {
    auto flags = std::make_shared<PlanFlags>();
    Verb verb = parser.add(verb_name, summary, [flags, picture] { return draw(*flags, picture); });
    flags->add_to(verb);
    return verb;
  };
  add("plot timeline", "Draws memory over the steps of a plan, compared with keep-all", timeline)
      .example("checkmate plot timeline 'zoo:unet?batch=32' --budget 60% -o unet.svg");
  add("plot map", "Draws stages against ops: first runs, recomputations and what is kept", map)
      .example("checkmate plot map 'zoo:linear?n=32' --budget 12 -o map.svg");
  add_tradeoff(parser);
  add_batches(parser);
}

}  // namespace checkmate::tool
