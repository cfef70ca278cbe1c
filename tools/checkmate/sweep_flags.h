#pragma once

#include "flags.h"

namespace checkmate::tool {

/// Which methods run at which budgets: for the verbs that show cost against memory.
struct SweepFlags {
  std::string budgets = "90%..20%";
  std::string methods = "chen-sqrt,chen-greedy,ap-sqrt,ap-greedy,linear-sqrt,linear-greedy,auto";

  void add_to(Verb& verb);
  /// Each of those searches with these options; budgets from the smallest up, as they are searched.
  Result<SweepOptions> options(const Graph& graph, SolveOptions search) const;
};

/// sweep() with these options; on a terminal, a line shows which search is running and its state.
Result<std::vector<SweepPoint>> watched_sweep(const Graph& graph, SweepOptions options,
                                              const std::stop_token& stop);

}  // namespace checkmate::tool
