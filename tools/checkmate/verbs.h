#pragma once

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
void add_info(Parser& parser);
void add_simulate(Parser& parser);
void add_verify(Parser& parser);
void add_convert(Parser& parser);
void add_zoo(Parser& parser);
void add_completion(Parser& parser);

/// Prints `checkmate: ...` on stderr; returns kBadInput.
int report(const Error& error);

/// The argument GRAPH that most verbs take.
void add_graph(Verb& verb, std::string& graph);

/// The options that all solving verbs take.
struct SolveFlags {
  std::string budget;
  std::string order = "fixed";
  double time_limit = 60;
  int threads = 1;
  std::uint64_t seed = 1;

  void add_to(Verb& verb);
  /// Everything but the method.
  Result<SolveOptions> options(const Graph& graph) const;
};
int exit_code_of(Status status);

}  // namespace checkmate::tool
