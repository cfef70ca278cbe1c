// How much larger than the peak the layouts are: of plans at several budgets for each graph, and of blocks.
// One Markdown line per layout, then the median, the worst, and how many are above 0.5% and 2%.
// With --fit, what it costs that the layout fits the budget, not only the peak: one line per plan.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "checkmate/checkmate.h"

namespace checkmate::bench {
namespace {

constexpr std::string_view kUsage =
    "layout_bench [--fit] [--solve-seconds S] [--layout-seconds S] [--capacity B] PATH...\n"
    "  PATH              a graph (.json), blocks (.csv), or a folder of such\n"
    "  --fit             plan again for less until the layout fits the budget\n"
    "  --solve-seconds   per plan, by default 3\n"
    "  --layout-seconds  per layout, by default 2\n"
    "  --capacity        bytes that are enough\n";

constexpr int kMostPlans = 6;

struct Limits {
  bool fit = false;
  double solve = 3;
  double layout = 2;
  double capacity = 0;
};

/// The excess over the peak in percent, of all layouts that were printed.
using Excesses = std::vector<double>;

void measure(const std::string& name, const std::vector<Block>& blocks, const Limits& limits,
             Excesses& excesses) {
  Bytes first;
  double found = 0;
  LayoutOptions options{.time_limit = std::chrono::duration<double>(limits.layout)};
  if (limits.capacity > 0) options.capacity = Bytes{static_cast<std::int64_t>(limits.capacity)};
  options.on_progress = [&](const LayoutProgress& progress) {
    if (first == Bytes{0}) first = progress.size;
    found = progress.seconds;
  };
  const LayoutResult result = *lay_out(blocks, options);
  const auto excess = [&](Bytes size) {
    const auto over = static_cast<double>((size - result.peak).count());
    return result.peak == Bytes{0} ? 0.0 : 100 * over / static_cast<double>(result.peak.count());
  };
  excesses.push_back(excess(result.layout.size));
  fmt::print("| {} | {} | {} | {:.2f} | {:.3f} | {:.2f} |{}\n", name, blocks.size(), to_string(result.peak),
             excess(first), excesses.back(), found, result.optimal ? " optimal |" : " |");
  std::fflush(stdout);
}

/// Overheads of the plan whose peak fits and of the first whose layout fits as well.
void measure_fit(const Graph& graph, const std::string& name, Bytes budget, const Limits& limits) {
  const Bytes room = budget - graph.fixed_bytes();
  double by_peak = 0;
  Bytes within = budget;
  for (int plans = 1; plans <= kMostPlans; ++plans) {
    const Result<SolveResult> solved =
        solve(graph, {.budget = within, .time_limit = std::chrono::duration<double>(limits.solve)});
    if (!solved || !solved->plan) break;
    const double overhead = checkmate::overhead(graph, *solved->cost);
    if (plans == 1) by_peak = overhead;
    const LayoutResult laid_out =
        *lay_out(*blocks_of(graph, *solved->plan),
                 {.time_limit = std::chrono::duration<double>(limits.layout), .capacity = room});
    const Bytes size = laid_out.layout.size;
    if (size <= room) {
      fmt::print("| {} | {:.4f} | {:.4f} | {} |\n", name, by_peak, overhead, plans);
      std::fflush(stdout);
      return;
    }
    within = within - std::max(size - room, Bytes{room.count() / 2000});
  }
  if (by_peak > 0) fmt::print("| {} | {:.4f} | none found | |\n", name, by_peak);
}

void measure_plans(const std::filesystem::path& path, const Limits& limits, Excesses& excesses) {
  const Result<Graph> graph = read_graph(path);
  if (!graph) return fmt::print(stderr, "layout_bench: {}\n", graph.error().message);
  for (const char* budget : {"100%", "80%", "60%", "50%", "40%", "30%"}) {
    const std::string name = fmt::format("{} {}", path.stem().string().substr(0, 22), budget);
    if (limits.fit) {
      measure_fit(*graph, name, *parse_budget(*graph, budget), limits);
      continue;
    }
    const Result<SolveResult> solved = solve(
        *graph,
        {.budget = *parse_budget(*graph, budget), .time_limit = std::chrono::duration<double>(limits.solve)});
    if (!solved || !solved->plan) continue;
    measure(name, *blocks_of(*graph, *solved->plan), limits, excesses);
  }
}

void measure_path(const std::filesystem::path& path, const Limits& limits, Excesses& excesses) {
  if (std::filesystem::is_directory(path)) {
    std::vector<std::filesystem::path> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) inside.push_back(entry.path());
    }
    std::sort(inside.begin(), inside.end());
    for (const std::filesystem::path& file : inside) measure_path(file, limits, excesses);
  } else if (path.extension() == ".csv") {
    const Result<BlockTable> table = read_blocks(path);
    if (!table) return fmt::print(stderr, "layout_bench: {}\n", table.error().message);
    measure(path.stem().string(), table->blocks, limits, excesses);
  } else if (path.extension() == ".json") {
    measure_plans(path, limits, excesses);
  }
}

int run(std::vector<std::string> arguments) {
  Limits limits;
  Excesses excesses;
  const auto option = [&](std::string_view name, double& value) {
    const auto found = std::find(arguments.begin(), arguments.end(), name);
    if (found == arguments.end() || found + 1 == arguments.end()) return;
    std::from_chars(found[1].data(), found[1].data() + found[1].size(), value);
    arguments.erase(found, found + 2);
  };
  option("--solve-seconds", limits.solve);
  option("--layout-seconds", limits.layout);
  option("--capacity", limits.capacity);
  limits.fit = std::erase(arguments, "--fit") > 0;
  if (arguments.empty()) {
    fmt::print(stderr, "{}", kUsage);
    return 1;
  }
  if (limits.fit) {
    fmt::print("| plan | overhead, peak fits | overhead, layout fits | plans |\n|---|---|---|---|\n");
  } else {
    fmt::print("| blocks of | number | peak | first, % over | layout, % over | found after s | proven |\n");
    fmt::print("|---|---|---|---|---|---|---|\n");
  }
  for (const std::string& path : arguments) measure_path(path, limits, excesses);
  std::sort(excesses.begin(), excesses.end());
  const auto above = [&](double limit) {
    return std::count_if(excesses.begin(), excesses.end(), [&](double excess) { return excess > limit; });
  };
  if (!excesses.empty()) {
    fmt::print("\n{} layouts: median {:.3f}%, worst {:.3f}%, above 0.5%: {}, above 2%: {}\n", excesses.size(),
               excesses[excesses.size() / 2], excesses.back(), above(0.5), above(2));
  }
  return 0;
}

}  // namespace
}  // namespace checkmate::bench

int main(int argc, char** argv) { return checkmate::bench::run({argv + 1, argv + argc}); }
