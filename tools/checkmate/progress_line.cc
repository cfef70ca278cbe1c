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
    line += fmt::format("  {}gap {}", kind, percent_at_most(gap));
  }
  return line;
}

void show(std::string_view line) {
  // The last column stays free: a terminal that fills it begins another line.
  tell(fmt::format("\r\x1b[K{}", cut_to(line, err_terminal().columns - 1)));
}

}  // namespace

ProgressLine::ProgressLine(std::string task, const Graph& graph, SolveOptions& options)
    : task_(std::move(task)), options_(options) {
  if (!err_terminal().escapes) return;
  options_.on_progress = [this, &graph](const Progress& progress) { show(line_of(task_, graph, progress)); };
}

ProgressLine::~ProgressLine() {
  if (options_.on_progress) show("");
  options_.on_progress = {};
}

void ProgressLine::now_at(std::string task) {
  task_ = std::move(task);
  if (options_.on_progress) show(task_);
}

}  // namespace checkmate::tool
