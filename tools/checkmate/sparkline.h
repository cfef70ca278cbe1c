#pragma once

#include "checkmate/checkmate.h"

namespace checkmate::tool {

/// Two lines, memory over the steps of keep-all and of the plan, on the same scales: `▁▂▄█▆▃  19.5 GiB`, what
/// is over the budget in another colour. Plain ASCII where the terminal or the locale has no Unicode. Nothing
/// for a plan that cannot run.
void print_sparklines(const Graph& graph, const Plan& plan, Bytes budget, std::string_view plan_name);

}  // namespace checkmate::tool
