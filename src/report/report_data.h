#pragma once

#include <string>

#include "checkmate/report.h"
#include "checkmate/simulate.h"

namespace checkmate::report {

/// The largest number of ops that are drawn as a network.
inline constexpr std::size_t kDrawnOps = 200;

/// What the page knows, as one compact JSON object. `run` is the simulation of the plan.
std::string report_json(const Graph& graph, const Plan& plan, const Simulation& run,
                        const ReportOptions& options);

/// The same JSON, fit to stand inside a script element: nothing in it can end the element or a line.
std::string inside_script(std::string_view json);

}  // namespace checkmate::report
