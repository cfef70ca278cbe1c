#pragma once

#include "checkmate/solve.h"
#include "parser.h"

/// The verbs of the command line, one source file per verb. They read arguments, call the library and print.
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
void add_least_budget(Parser& parser);
void add_max_batch(Parser& parser);
void add_reproduce(Parser& parser);
void add_report(Parser& parser);
void add_info(Parser& parser);
void add_simulate(Parser& parser);
void add_validate(Parser& parser);
void add_layout(Parser& parser);
void add_convert(Parser& parser);
void add_zoo(Parser& parser);
void add_plot(Parser& parser);
void add_torch(Parser& parser);
void add_completion(Parser& parser);
void add_reference(Parser& parser);

/// Prints `checkmate: ...` on stderr; returns kBadInput.
int print_error(const Error& error);

int exit_code_of(Status status);

}  // namespace checkmate::tool
