#include "experiments/experiments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "checkmate/budget.h"
#include "checkmate/io.h"
#include "checkmate/max_batch.h"
#include "checkmate/simulate.h"
#include "checkmate/sweep.h"
#include "checkmate/zoo.h"
#include "core/text.h"
#include "core/try.h"
#include "experiments/public_graphs.h"
#include "solve/paper/stage_model.h"

namespace checkmate::experiments {
namespace {

/// A network of the paper, as the zoo builds it; the public graphs have it under the same name.
struct PaperNetwork {
  std::string_view name;
  std::string_view zoo;
};
constexpr PaperNetwork kMobileNet = {"MobileNet", "mobilenet?batch=512"};
constexpr PaperNetwork kVgg16 = {"VGG16", "vgg16?batch=256"};
constexpr PaperNetwork kVgg19 = {"VGG19", "vgg19?batch=256"};
constexpr PaperNetwork kUnet = {"U-Net", "unet?batch=32"};
constexpr PaperNetwork kResNet50 = {"ResNet50", "resnet50?batch=256"};
constexpr PaperNetwork kFcn8 = {"FCN8", "fcn8?batch=32"};
constexpr PaperNetwork kSegNet = {"SegNet", "segnet?batch=32"};

/// The paper's figure of a network: the file's name is the network's, in small letters.
ExperimentFigure overhead_figure(std::string_view network, const Graph& graph,
                                 std::span<const SweepPoint> points) {
  std::string file = "overhead_";
  for (const char c : network) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      file += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return {file, fmt::format("{}: overhead against budget", network), tradeoff_of(graph, points)};
}

std::string ratio(double value) { return fmt::format("{:.3f}", value); }

class Reproduction {
 public:
  Reproduction(const ReproduceOptions& options, const std::stop_token& stop)
      : options_(options), stop_(stop) {}

  Result<Experiment> integrality_gap();
  Result<Experiment> approximation();
  Result<Experiment> max_batches();
  Result<Experiment> overheads();
  Result<Experiment> solve_times();
  Result<Experiment> stage_maps();

 private:
  void say(std::string_view what) const {
    if (options_.on_progress) options_.on_progress(what);
  }
  Result<Graph> load(const PaperNetwork& network) const {
    if (options_.graphs.empty()) return zoo::build(network.zoo);
    return read_public_graph(network.name, options_.graphs);
  }
  std::string costs() const {
    return options_.graphs.empty() ? "multiply-accumulates" : "the public graphs' own costs";
  }
  SolveOptions solve_options() const {
    SolveOptions solve_options;
    solve_options.time_limit = std::chrono::duration<double>(options_.time_limit);
    solve_options.threads = options_.threads;
    return solve_options;
  }
  /// All methods over the budgets of the paper's kind of sweep.
  Result<std::vector<SweepPoint>> swept(const PaperNetwork& network, const Graph& graph,
                                        const std::vector<std::string>& methods) const {
    CHECKMATE_TRY(std::vector<Bytes> budgets, parse_budgets(graph, "90%..20%,95%,85%"));
    return sweep(graph,
                 {.budgets = budgets,
                  .methods = methods,
                  .solve = solve_options(),
                  .on_point =
                      [&](const SweepPoint& point) {
                        say(fmt::format("{}: {} at {}: {}", network.name, point.method,
                                        to_string(point.budget), to_string(point.result.status)));
                      }},
                 stop_);
  }

  const ReproduceOptions& options_;
  const std::stop_token& stop_;
};

Result<Experiment> Reproduction::integrality_gap() {
  CHECKMATE_TRY(const Graph graph, zoo::build("linear?n=8"));
  constexpr Bytes kBudget{4};
  Experiment table{
      {.name = "integrality-gap",
       .title = "Integrality gap: 8 layers (17 ops), unit costs and sizes, budget 4",
       .header = {"form", "relaxation", "relaxation, s", "optimum", "optimum, s", "ratio", "paper"},
       .rows = {}}};
  struct Form {
    std::string_view name;
    Partition partition;
    bool tight;
    std::string_view paper;
  };
  constexpr std::array kForms = {
      Form{"frontier-advancing, the paper's rows", Partition::kFrontier, false, "1.18"},
      Form{"frontier-advancing, one row per hazard", Partition::kFrontier, true, ""},
      Form{"unpartitioned, the paper's rows", Partition::kFree, false, "21.56"}};
  std::optional<double> optimum;
  for (const Form& form : kForms) {
    say(form.name);
    const StageModel model(graph, {.budget = kBudget, .partition = form.partition, .tight = form.tight});
    LinearOptions limits;
    limits.stop = stop_;
    limits.time_limit = options_.time_limit;
    limits.relax = true;
    const LinearSolution relaxed = LinearSolver(model.program()).solve(limits);
    if (relaxed.status != LinearSolution::Status::kOptimal) {
      return Error{ErrorCode::kInvalidArgument,
                   "the relaxation was not solved in time; raise the time limit"};
    }
    limits.relax = false;
    const LinearSolution whole = LinearSolver(model.program()).solve(limits);
    const bool solved = whole.status == LinearSolution::Status::kOptimal;
    if (solved) optimum = std::round(model.cost_of(whole.objective));
    const std::string known = optimum ? fmt::format("{:.0f}", *optimum) : "";
    const double relaxation = model.cost_of(relaxed.objective);
    table.rows.push_back({std::string(form.name), ratio(relaxation), ratio(relaxed.seconds),
                          solved    ? known
                          : optimum ? "not in time; at most " + known
                                    : "not in time",
                          ratio(whole.seconds), optimum ? ratio(*optimum / relaxation) : "-",
                          std::string(form.paper)});
  }
  table.remark =
      "Ratio: optimum / relaxation. Where the optimum was not found in time, that of the rows above is used, "
      "if there is one.";
  return table;
}

Result<Experiment> Reproduction::approximation() {
  struct Row {
    PaperNetwork network;
    std::array<std::string_view, 4> paper;  // as the methods below
  };
  constexpr std::array kRows = {
      Row{kMobileNet, {"1.14", "1.07", "7.07", "1.06"}}, Row{kVgg16, {"1.28", "1.06", "1.44", "1.01"}},
      Row{kVgg19, {"1.54", "1.39", "1.75", "1.00"}}, Row{kUnet, {"1.27", "1.23", "-", "1.03"}},
      Row{kResNet50, {"1.20", "1.25", "-", "1.05"}}};
  const std::vector<std::string> methods = {"ap-sqrt", "ap-greedy", "ap-griewank", "lp-round", "milp"};
  Experiment table{{.name = "approximation",
                    .title = "Cost over the best bound, geometric mean over the feasible budgets; " + costs(),
                    .header = {"network", "AP sqrt(n)", "AP greedy", "AP Griewank", "two-phase rounding",
                               "MILP", "budgets", "bound proven"},
                    .rows = {}}};
  for (const Row& row : kRows) {
    CHECKMATE_TRY(const Graph graph, load(row.network));
    CHECKMATE_TRY(const std::vector<SweepPoint> points, swept(row.network, graph, methods));
    // A bound for less memory does not hold for more, so each budget has its own: the best that any method
    // proved there.
    std::map<Bytes, Cost> bound;
    std::map<Bytes, Cost> cheapest;
    for (const SweepPoint& point : points) {
      Cost& best = bound.try_emplace(point.budget, graph.keep_all_cost()).first->second;
      best = std::max({best, point.result.lower_bound, point.result.stage_lower_bound.value_or(Cost{0})});
      if (!point.result.plan) continue;
      Cost& least = cheapest.try_emplace(point.budget, *point.result.cost).first->second;
      least = std::min(least, *point.result.cost);
    }
    std::map<std::string, std::pair<double, int>> logs;
    for (const SweepPoint& point : points) {
      if (!point.result.plan) continue;
      auto& [sum, count] = logs[point.method];
      sum += std::log(static_cast<double>(point.result.cost->count()) /
                      static_cast<double>(bound[point.budget].count()));
      ++count;
    }
    const auto tight = std::count_if(cheapest.begin(), cheapest.end(), [&](const auto& entry) {
      return relative_gap(entry.second, std::min(entry.second, bound[entry.first])) < 1e-4;
    });
    std::vector<std::string> cells = {std::string(row.network.name)};
    for (std::size_t i = 0; i < methods.size(); ++i) {
      const auto [sum, count] = logs[methods[i]];
      const std::string ours = count == 0 ? "-" : fmt::format("{} ({})", ratio(std::exp(sum / count)), count);
      cells.push_back(i < row.paper.size() ? fmt::format("{} / {}", row.paper.at(i), ours) : ours);
    }
    cells.push_back(std::to_string(cheapest.size()));
    cells.push_back(fmt::format("{} of {}", tight, cheapest.size()));
    table.rows.push_back(std::move(cells));
  }
  table.remark =
      "Paper / ours; in parentheses, the number of budgets for which the method has a plan. Where the "
      "optimum is "
      "not proven, ours is relative to the best "
      "bound, which makes it look worse than it is.";
  return table;
}

Result<Experiment> Reproduction::max_batches() {
  struct Row {
    PaperNetwork network;
    std::string_view keep_all, sqrt, greedy, checkmate;
  };
  constexpr std::array kRows = {
      Row{kUnet, "22", "18", "21", "57 (61)"}, Row{kFcn8, "26", "42", "42", "60"},
      Row{kSegNet, "22", "33", "39", "62"},    Row{kResNet50, "101", "118", "165", "193"},
      Row{kVgg19, "167", "197", "266", "289"}, Row{kMobileNet, "217", "448", "504", "1105"}};
  Experiment table{
      {.name = "max-batch",
       .title =
           "Largest batch in 16 GB with at most one extra forward pass, multiply-accumulates; paper / ours",
       .header = {"network", "keep-all", "linearized sqrt(n)", "linearized greedy", "lp-round", "milp",
                  "auto", "upper limit", "paper's Checkmate"},
       .rows = {}}};
  std::vector<BatchBar> bars;
  for (const Row& row : kRows) {
    const std::string base(row.network.zoo.substr(0, row.network.zoo.find('?')));
    std::vector<std::string> cells = {std::string(row.network.name)};
    std::int64_t limit = INT64_MAX;
    const auto bar = [&](std::string_view method, std::int64_t batch) {
      bars.push_back({std::string(row.network.name), std::string(method), batch});
    };
    const std::array<std::pair<std::string_view, std::string_view>, 6> methods = {
        {{"keep-all", row.keep_all},
         {"linear-sqrt", row.sqrt},
         {"linear-greedy", row.greedy},
         {"lp-round", ""},
         {"milp", ""},
         {"auto", ""}}};
    for (const auto& [method, paper] : methods) {
      say(fmt::format("{}: {}", row.network.name, method));
      SolveOptions solve_options = this->solve_options();
      solve_options.method = method;
      const auto build = [&](std::int64_t batch) { return zoo::build(*zoo::with_batch(base, batch)); };
      const MaxBatchOptions options{.memory = Bytes{16'000'000'000}, .solve = solve_options, .largest = 4096};
      CHECKMATE_TRY(const MaxBatch found, max_batch(build, options, stop_));
      limit = std::min(limit, found.upper_limit);
      bar(method, found.batch);
      const std::string ours = fmt::format("{}{}", found.batch, found.proven ? ", proven" : "");
      cells.push_back(paper.empty() ? ours : fmt::format("{} / {}", paper, ours));
    }
    cells.push_back(std::to_string(limit));
    cells.emplace_back(row.checkmate);
    bar("the paper's Checkmate", std::stoll(std::string(row.checkmate)));  // of `57 (61)` the first
    table.rows.push_back(std::move(cells));
  }
  table.remark =
      "The upper limit is proven: at the next batch, the values that must be in memory at once exceed the "
      "memory, "
      "whatever is recomputed.";
  table.figures.push_back(
      {"max_batch", "Largest batch in 16 GB with at most one extra forward pass", std::move(bars)});
  return table;
}

Result<Experiment> Reproduction::overheads() {
  const std::vector<std::string> methods = {"chen-sqrt",   "chen-greedy",   "ap-sqrt",  "ap-greedy",
                                            "linear-sqrt", "linear-greedy", "griewank", "lp-round",
                                            "milp",        "auto"};
  Experiment table{{.name = "overhead",
                    .title = "Overhead against budget; " + costs(),
                    .header = {"network", "budget", "share"},
                    .rows = {}}};
  table.header.insert(table.header.end(), methods.begin(), methods.end());
  table.header.emplace_back("bound");
  for (const PaperNetwork& network : {kVgg16, kMobileNet, kUnet}) {
    CHECKMATE_TRY(const Graph graph, load(network));
    CHECKMATE_TRY(const std::vector<SweepPoint> points, swept(network, graph, methods));
    std::map<Bytes, std::map<std::string, std::string>> cells;
    std::map<Bytes, Cost> bounds;
    for (const SweepPoint& point : points) {
      if (point.result.plan)
        cells[point.budget][point.method] = fmt::format("{:.4f}", overhead(graph, *point.result.cost));
      // For every plan of the order: those of auto need not be of the paper's class.
      Cost& best = bounds[point.budget];
      best = std::max(best, point.result.lower_bound);
    }
    for (auto& [budget, by_method] : cells) {
      const double share = static_cast<double>((budget - graph.fixed_bytes()).count()) /
                           static_cast<double>(keep_all_peak(graph).count());
      std::vector<std::string> row = {std::string(network.name), to_string(budget),
                                      fmt::format("{:.0f}%", 100 * share)};
      for (const std::string& method : methods) row.push_back(by_method[method]);
      row.push_back(fmt::format("{:.4f}", overhead(graph, bounds[budget])));
      table.rows.push_back(std::move(row));
    }
    table.figures.push_back(overhead_figure(network.name, graph, points));
  }
  table.remark = "An empty cell means that there is no plan. The bound holds for every plan of the order.";
  return table;
}

Result<Experiment> Reproduction::solve_times() {
  struct Case {
    PaperNetwork network;
    std::string_view share;
  };
  constexpr std::array kCases = {Case{kVgg16, "90%"}, Case{kVgg19, "80%"},  Case{kFcn8, "70%"},
                                 Case{kUnet, "50%"},  Case{kSegNet, "50%"}, Case{kMobileNet, "40%"}};
  Experiment table{{.name = "solve-time",
                    .title = fmt::format("The paper's MILP in HiGHS, at most {:.0f} s; multiply-accumulates",
                                         options_.time_limit),
                    .header = {"network", "budget", "rounding", "rounding, s", "MILP", "stage bound",
                               "stage gap", "MILP, s"},
                    .rows = {}}};
  for (const Case& c : kCases) {
    CHECKMATE_TRY(const Graph graph, zoo::build(c.network.zoo));
    std::vector<std::string> row = {std::string(c.network.name), std::string(c.share)};
    for (const char* method : {"lp-round", "milp"}) {
      say(fmt::format("{}: {}", c.network.name, method));
      SolveOptions solve_options = this->solve_options();
      solve_options.method = method;
      CHECKMATE_TRY(const Bytes budget, parse_budget(graph, c.share));
      solve_options.budget = budget;
      CHECKMATE_TRY(const SolveResult result, solve(graph, solve_options, stop_));
      row.push_back(result.plan ? fmt::format("{:.5f}", overhead(graph, *result.cost)) : "-");
      if (solve_options.method == "milp") {
        const bool staged = result.stage_lower_bound.has_value();
        row.push_back(staged ? fmt::format("{:.5f}", overhead(graph, *result.stage_lower_bound)) : "-");
        row.push_back(
            staged && result.plan
                ? fmt::format("{:.2f}%", 100 * relative_gap(*result.cost, *result.stage_lower_bound))
                : "-");
      }
      row.push_back(fmt::format("{:.1f}", result.seconds));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<Experiment> Reproduction::stage_maps() {
  CHECKMATE_TRY(const Graph graph, zoo::build("linear?n=32"));
  Experiment table{{.name = "stage-map",
                    .title = "Plans for a chain of 32 layers (65 ops), unit costs and sizes",
                    .header = {"plan", "budget", "peak", "recomputed runs", "overhead", "gap"},
                    .rows = {}}};
  struct Case {
    std::string_view name;
    std::string_view method;
    std::int64_t budget;  ///< 0: as much memory as the plan before it takes
  };
  constexpr std::int64_t kRoomy = 65;
  constexpr std::array kCases = {Case{"keep-all", "keep-all", kRoomy},
                                 Case{"Chen, sqrt(n)", "chen-sqrt", kRoomy}, Case{"optimal", "auto", 0},
                                 Case{"optimal", "auto", 6}};
  std::vector<MapPanel> panels;
  Bytes peak{kRoomy};
  for (const Case& c : kCases) {
    say(c.name);
    SolveOptions solve_options = this->solve_options();
    solve_options.method = c.method;
    solve_options.budget = c.budget == 0 ? peak : Bytes{c.budget};
    CHECKMATE_TRY(const SolveResult result, solve(graph, solve_options, stop_));
    if (!result.plan)
      return Error{ErrorCode::kInvalidArgument, fmt::format("no plan for {}; raise the time limit", c.name)};
    peak = *result.peak;
    CHECKMATE_TRY(StageMap map, stage_map(graph, *result.plan));
    table.rows.push_back({std::string(c.name), std::to_string(solve_options.budget.count()),
                          std::to_string(result.peak->count()), std::to_string(map.recomputed.size()),
                          fmt::format("{:.4f}", overhead(graph, *result.cost)),
                          fmt::format("{:.2f}%", 100 * relative_gap(*result.cost, result.lower_bound))});
    panels.push_back(
        {fmt::format("{}: {} units, {:.2f}x", c.name, result.peak->count(), overhead(graph, *result.cost)),
         std::move(map)});
  }
  table.figures.push_back({"stage_map", "Stages of plans for a chain of 32 layers", std::move(panels)});
  return table;
}

constexpr std::array<std::string_view, 6> kNames = {"integrality-gap", "approximation", "max-batch",
                                                    "overhead",        "solve-time",    "stage-map"};

}  // namespace

Result<std::string> ExperimentFigure::draw(PictureFormat format) const {
  const PictureOptions options = {.format = format, .title = title};
  if (const auto* tradeoff = std::get_if<Tradeoff>(&data)) return plot_tradeoff(*tradeoff, options);
  if (const auto* bars = std::get_if<std::vector<BatchBar>>(&data)) return plot_max_batch(*bars, options);
  return plot_map(std::get<std::vector<MapPanel>>(data), options);
}

std::span<const std::string_view> experiment_names() { return kNames; }

Result<Experiment> reproduce(std::string_view name, const ReproduceOptions& options,
                             const std::stop_token& stop) {
  if (!(options.time_limit > 0)) return Error{ErrorCode::kInvalidArgument, "the time limit must be positive"};
  if (options.threads < 1) return Error{ErrorCode::kInvalidArgument, "threads must be at least 1"};
  Reproduction reproduction(options, stop);
  if (name == "integrality-gap") return reproduction.integrality_gap();
  if (name == "approximation") return reproduction.approximation();
  if (name == "max-batch") return reproduction.max_batches();
  if (name == "overhead") return reproduction.overheads();
  if (name == "solve-time") return reproduction.solve_times();
  if (name == "stage-map") return reproduction.stage_maps();
  return Error{ErrorCode::kInvalidArgument, fmt::format("unknown experiment {}; known are {}, all",
                                                        in_quotes(name), fmt::join(kNames, ", "))};
}

}  // namespace checkmate::experiments
