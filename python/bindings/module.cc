#include <checkmate/version.h>

#include "bindings.h"

NB_MODULE(_core, module) {
  using namespace checkmate::python;
  module.doc() = "The C++ core. Use the package `checkmate`, which checks what it passes on.";
  module.attr("version") = checkmate::version();
  bind_errors(module);
  bind_graph(module);
  bind_plan(module);
  bind_layout(module);
  bind_solve(module);
  bind_searches(module);
}
