#include "commands.h"

#include <fmt/format.h>

#include <stdexcept>

#include "console.h"

namespace checkmate::tool {

int print_error(const Error& error) {
  tell(fmt::format("checkmate: {}\n", error.message));
  return kBadInput;
}

int exit_code_of(Status status) {
  switch (status) {
    case Status::kOptimal:
    case Status::kFeasible:
      return kDone;
    case Status::kInfeasible:
      return kInfeasible;
    case Status::kUnknown:
      return kNoPlan;
  }
  throw std::logic_error("every status has an exit code");
}

}  // namespace checkmate::tool
