#pragma once

#include "checkmate/checkmate.h"
#include "io/json_writer.h"

namespace checkmate::tool {

/// The object of `solve --json`, as docs/command_line.md lists it.
void write_answer(JsonWriter& json, const Graph& graph, const SolveOptions& options,
                  const SolveResult& result);
/// Its members alone, for an object that has more of them.
void write_answer_members(JsonWriter& json, const Graph& graph, const SolveOptions& options,
                          const SolveResult& result);

}  // namespace checkmate::tool
