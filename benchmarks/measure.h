#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "instances.h"

namespace checkmate::bench {

struct Problem {
  Instance instance;
  Graph graph;
  Bytes budget;
};

struct How {
  std::string method;
  std::uint64_t seed = 1;
  std::chrono::duration<double> time_limit{10};
  int threads = 1;
};

/// The best plan and bound up to a time.
struct TracePoint {
  double seconds;
  std::optional<Cost> cost;
  Cost bound;
};

/// One solve, its plan checked anew and then dropped.
struct Run {
  How how;
  SolveResult result;
  std::vector<TracePoint> trace;  ///< by time; the last is the answer's
  Bytes memory;                   ///< the most that the process held
};

/// An error for wrong options, and for a plan that does not hold or is not what the answer says.
Result<Run> measure(const Problem& problem, const How& how);

/// When the run had a plan of at most this cost; nothing if never.
std::optional<double> seconds_to_cost(const Run& run, Cost cost);
/// When it had a relative gap of at most this.
std::optional<double> seconds_to_gap(const Run& run, double gap);

}  // namespace checkmate::bench
