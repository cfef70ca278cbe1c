#pragma once

#include <functional>
#include <string>

#include "checkmate/checkmate.h"
#include "parser.h"

namespace checkmate::tool {

/// The argument GRAPH and its costs, which most verbs take.
struct GraphFlags {
  std::string graph;
  std::string costs = "file";

  void add_to(Verb& verb);
  Result<Graph> load() const;
};

/// How to search; for the verbs that solve.
struct SearchFlags {
  std::string order = "fixed";
  std::string stages = "frontier";
  double time_limit = SolveOptions{}.time_limit.count();
  double gap = SolveOptions{}.gap;
  double patience = SolveOptions{}.patience;
  int threads = SolveOptions{}.threads;
  int samples = SolveOptions{}.samples;
  std::int64_t seed = static_cast<std::int64_t>(SolveOptions{}.seed);
  std::int64_t moves = static_cast<std::int64_t>(SolveOptions{}.moves);

  void add_to(Verb& verb);
  /// Everything except the budget and the method.
  Result<SolveOptions> options() const;
};

/// What there is to solve. The verb adds the method.
struct Problem {
  Graph graph;
  SolveOptions options;
};

/// A graph, a budget and how to search: for the verbs that solve at one budget.
struct ProblemFlags {
  GraphFlags graph;
  std::string budget;
  SearchFlags search;

  void add_to(Verb& verb);
  Result<Problem> load() const;
};

/// The network `zoo:NAME?...` for any batch. An error where it is not of the zoo or sets the batch itself.
Result<std::function<Result<Graph>(std::int64_t batch)>> by_batch(const std::string& network,
                                                                  const std::string& costs);

/// Names separated by commas; if empty, all methods that find plans, except brute force.
Result<std::vector<std::string>> parse_methods(std::string_view text);

}  // namespace checkmate::tool
