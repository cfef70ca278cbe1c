#pragma once

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/whole_costs.h"
#include "io/json_reader.h"

/// One reader per graph format, each in its own source file. The JsonReader stands on the document.
namespace checkmate {

Result<Graph> read_checkmate_graph(JsonReader& json, const std::string& source);
Result<Graph> read_node_link_graph(JsonReader& json, const std::string& source);

/// The builder's graph with the costs of the file, one per op, as whole numbers.
Result<Graph> build_with_costs(GraphBuilder builder, std::span<const DecimalCost> costs,
                               std::string_view cost_unit);

}  // namespace checkmate
