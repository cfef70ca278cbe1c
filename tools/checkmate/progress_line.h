#pragma once

#include <string>

#include "checkmate/checkmate.h"

namespace checkmate::tool {

/// While it lives, one line on the terminal shows the state of searches with these options: time, best cost,
/// bound and gap, rewritten again and again. It is cut to the terminal's width, and removed at
/// the end. Nothing without a terminal, or where the terminal cannot do it.
class ProgressLine {
 public:
  ProgressLine(std::string task, const Graph& graph, SolveOptions& options);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Between two searches: what the next one is; the line shows it at once.
  void now_at(std::string task);

 private:
  std::string task_;
  SolveOptions& options_;
};

}  // namespace checkmate::tool
