#include <fmt/format.h>

#include "commands.h"

namespace checkmate::tool {

/// Behind scripts/write_reference.sh, and the test that docs/command_line.md is up to date.
void add_reference(Parser& parser) {
  parser
      .add("reference", "Prints the reference of the command line in Markdown",
           [&parser] {
             fmt::print("{}", parser.reference());
             return static_cast<int>(kDone);
           })
      .hidden();
}

}  // namespace checkmate::tool
