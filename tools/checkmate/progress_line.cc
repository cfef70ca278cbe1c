#include "progress_line.h"

#include <fmt/format.h>

#include "console.h"
#include "terminal.h"

namespace checkmate::tool {
namespace {

std::string line_of(std::string_view task, const Graph& graph, const Progress& progress) {
  std::string line = fmt::format("{}{:.1f} s", task, progress.seconds);
  if (progress.cost) line += "  best " + times(overhead(graph, *progress.cost));
  const std::optional<Cost> bound = progress.bound ? progress.bound : progress.stage_bound;
  const std::string_view kind = progress.bound ? "" : "stage ";
  if (bound) line += fmt::format("  {}bound {}", kind, times(overhead(graph, *bound)));
  if (progress.cost && bound) {
    const double gap = relative_gap(*progress.cost, std::min(*progress.cost, *bound));
    line += fmt::format("  {}gap {}", kind, percent(gap));
  }
  return line;
}

}  // namespace

ProgressLine::ProgressLine(std::string task, const Graph& graph, SolveOptions& options) : options_(options) {
  if (!err_terminal().escapes) return;
  options_.on_progress = [task = std::move(task), &graph](const Progress& progress) {
    // The last column stays free: a terminal that fills it begins another line.
    const std::string line = cut_to(line_of(task, graph, progress), err_terminal().columns - 1);
    fmt::print(stderr, "\r\x1b[K{}", line);
  };
}

ProgressLine::~ProgressLine() {
  if (options_.on_progress) fmt::print(stderr, "\r\x1b[K");
  options_.on_progress = {};
}

}  // namespace checkmate::tool
