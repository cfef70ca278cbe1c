#include "sparkline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "console.h"
#include "terminal.h"

namespace checkmate::tool {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kPlain = {".", ":", "-", "=", "+", "*", "#", "@"};

struct Axes {
  std::size_t steps;    ///< of the longer one
  std::size_t columns;  ///< for that many
  Bytes highest;
  Bytes budget;
};

/// A column shows the most that any of its steps needs.
std::string sparkline(const std::vector<Bytes>& memory, const Axes& axes, Tint within) {
  const std::size_t columns =
      std::max<std::size_t>(1, (memory.size() * axes.columns + axes.steps / 2) / axes.steps);
  const auto& levels = out_terminal().unicode ? kBlocks : kPlain;
  const auto highest = static_cast<double>(std::max<std::int64_t>(1, axes.highest.count()));
  std::string line;
  std::string same;  // columns of one colour
  bool over = false;
  const auto flush = [&] { line += tinted(std::exchange(same, ""), over ? Tint::kBad : within); };
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * memory.size() / columns;
    const std::size_t end = std::max(begin + 1, (i + 1) * memory.size() / columns);
    const Bytes most = *std::max_element(memory.begin() + static_cast<std::ptrdiff_t>(begin),
                                         memory.begin() + static_cast<std::ptrdiff_t>(end));
    if (over != (most > axes.budget) && !same.empty()) flush();
    over = most > axes.budget;
    const double share = static_cast<double>(most.count()) / highest;
    const auto level = static_cast<std::size_t>(share * static_cast<double>(levels.size()));
    same += levels.at(std::min(level, levels.size() - 1));
  }
  flush();
  return line + std::string(axes.columns - columns, ' ');
}

}  // namespace

void print_sparklines(const Graph& graph, const Plan& plan, Bytes budget, std::string_view plan_name) {
  const Result<Simulation> kept = simulate(graph, keep_all_plan(graph));
  const Result<Simulation> planned = simulate(graph, plan);
  if (!kept || !planned) return;
  // With the facts' names and a size, 60 columns at least.
  const std::size_t wide =
      out_terminal().watched ? std::clamp<std::size_t>(out_terminal().columns, 48, 80) : 60;
  const Axes axes = {.steps = std::max(kept->memory.size(), planned->memory.size()),
                     .columns = wide - kFactColumn - 12,
                     .highest = std::max(kept->peak, planned->peak),
                     .budget = budget};
  const auto line = [&](std::string_view name, const Simulation& run, Tint tint) {
    print_fact(name, fmt::format("{}  {}", sparkline(run.memory, axes, tint), to_string(run.peak)));
  };
  line("memory, keep-all", *kept, Tint::kFaint);
  line(fmt::format("memory, {}", plan_name), *planned, Tint::kPlan);
}

}  // namespace checkmate::tool
