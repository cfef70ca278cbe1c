#pragma once

#include <functional>
#include <string>

#include "checkmate/checkmate.h"
#include "parser.h"

/// The verbs of the command line, one source file each. They read arguments, call the library and print.
namespace checkmate::tool {

enum ExitCode {
  kDone = 0,        ///< or: a plan within the budget
  kBadInput = 1,    ///< a wrong file, plan, option or value
  kInfeasible = 2,  ///< proven: no plan within the budget
  kNoPlan = 3,      ///< stopped without a plan
};

void add_solve(Parser& parser);
void add_compare(Parser& parser);
void add_sweep(Parser& parser);
void add_bound(Parser& parser);
void add_max_batch(Parser& parser);
void add_reproduce(Parser& parser);
void add_report(Parser& parser);
void add_info(Parser& parser);
void add_simulate(Parser& parser);
void add_validate(Parser& parser);
void add_convert(Parser& parser);
void add_zoo(Parser& parser);
void add_plot(Parser& parser);
void add_completion(Parser& parser);
void add_reference(Parser& parser);

/// Prints `checkmate: ...` on stderr; returns kBadInput.
int print_error(const Error& error);

/// The argument GRAPH, and with which costs, that most verbs take.
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
  int threads = SolveOptions{}.threads;
  int samples = SolveOptions{}.samples;
  std::int64_t seed = static_cast<std::int64_t>(SolveOptions{}.seed);
  std::int64_t moves = static_cast<std::int64_t>(SolveOptions{}.moves);

  void add_to(Verb& verb);
  /// Everything but the budget and the method.
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

/// Names with commas between them; without any, all methods that look for plans of real graphs.
Result<std::vector<std::string>> parse_methods(std::string_view text);
int exit_code_of(Status status);

}  // namespace checkmate::tool
