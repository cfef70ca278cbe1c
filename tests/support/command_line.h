#pragma once

#include <array>
#include <string>
#include <vector>

#include "support/program.h"

/// The program `checkmate`, as a user calls it.
namespace checkmate::testing {

inline constexpr std::array kVerbs = {"solve",  "compare", "sweep",     "bound", "least-budget", "max-batch",
                                      "report", "plot",    "reproduce", "info",  "simulate",     "validate",
                                      "layout", "convert", "zoo",       "torch", "completion"};

Finished checkmate(std::vector<std::string> arguments);

/// The same, with a Ctrl-C after so many seconds.
Finished interrupted(int seconds, std::vector<std::string> arguments);

/// For what the program must refuse: exit code 1, nothing on stdout, and one line on stderr, which is
/// returned.
std::string complaint(const std::vector<std::string>& arguments);

}  // namespace checkmate::testing
