#pragma once

#include "checkmate/checkmate.h"
#include "io/json_writer.h"

namespace checkmate::tool {

/// The object of `solve --json`, as DESIGN and docs/command_line.md list it.
void write_answer(JsonWriter& json, const Graph& graph, const SolveOptions& options,
                  const SolveResult& result);

}  // namespace checkmate::tool
