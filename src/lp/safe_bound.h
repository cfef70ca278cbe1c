#pragma once

#include <optional>

#include "checkmate/graph.h"

namespace checkmate {

/// A float from a solver as a bound on whole costs: less what its tolerances may add, then up to the next
/// whole number.
std::optional<Cost> safe_bound(const Graph& graph, double bound);

}  // namespace checkmate
