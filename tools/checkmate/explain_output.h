#pragma once

#include <optional>

#include "checkmate/checkmate.h"
#include "io/json_writer.h"

namespace checkmate::tool {

/// What `solve --explain` says about a plan.
struct Explained {
  Explanation plan;
  PriceOfMemory price;
};

/// The first ten of each list, and how many more there are.
void print_explanation(const Graph& graph, const SolveResult& result, const Explained& explained);
/// Everything, as docs/command_line.md lists it; null without an explanation.
void write_explanation(JsonWriter& json, const Graph& graph, const std::optional<Explained>& explained);

}  // namespace checkmate::tool
