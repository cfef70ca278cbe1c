#pragma once

#include <string>

#include "checkmate/checkmate.h"

namespace checkmate::tool {

/// While it lives, one line on the terminal tells how the searches with these options go: time, best cost,
/// bound and gap, written over again and again. It is cut to the terminal, so that it stays one line, and
/// gone in the end. Nothing where nobody watches, or the terminal cannot do it.
class ProgressLine {
 public:
  ProgressLine(std::string task, const Graph& graph, SolveOptions& options);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Between two searches: what the next one is, which the line tells at once.
  void now_at(std::string task);

 private:
  std::string task_;
  SolveOptions& options_;
};

}  // namespace checkmate::tool
