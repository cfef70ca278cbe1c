#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/layout.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"

#pragma GCC visibility push(default)
/// Files, as docs/file_formats.md describes them. Readers trust nothing: a wrong file is an Error that names
/// the line and the JSON path, and memory stays proportional to the file. Writers write the whole file or
/// none of it.
namespace checkmate {

/// A file, or `zoo:NAME?key=value&...`.
Result<Graph> load_graph(std::string_view argument);

/// Any graph format, recognised by its content: ours, or node-link JSON of either flavour.
Result<Graph> read_graph(const std::filesystem::path& path);
/// The same from text; errors name `source` as the file.
Result<Graph> parse_graph(std::string text, const std::string& source = "graph");

/// Our format. parse_graph() of it gives an equal graph.
std::string graph_to_json(const Graph& graph);
/// Node-link JSON of the training flavour, for plain graphs; an error for one with features that it cannot
/// hold. Kinds and tensor names are lost, and every phase but forward becomes backward.
Result<std::string> graph_to_node_link(const Graph& graph);
/// For Graphviz: ops as boxes coloured by phase, an edge for each tensor and user.
std::string graph_to_dot(const Graph& graph);
/// The fingerprint that ties a plan to its graph: a hash of the graph's version 1 JSON without its name. It
/// never changes, because old plan files must match.
std::string graph_sha256(const Graph& graph);

/// A plan and what is known about it. The claims are the writer's; simulate() and validate() check them.
struct PlanRecord {
  Plan plan;
  std::string graph_name;
  std::string graph_sha256;
  std::optional<Bytes> budget;
  Order order = Order::kFixed;
  std::optional<Cost> cost;
  std::optional<Bytes> peak;
  std::optional<Cost> lower_bound;
  std::string method;
  std::uint64_t seed = 0;
  std::optional<Layout> layout = {};  ///< of blocks_of(); check_layout() checks it
  bool operator==(const PlanRecord&) const = default;
};

/// What a plan file says about the plan of a search; nothing without one. `options` are those of the search.
std::optional<PlanRecord> record_of(const Graph& graph, const SolveOptions& options,
                                    const SolveResult& result);

/// A plan of this graph. Steps and frees must name ops and tensors that the graph has, and a fingerprint, if
/// there is one, must be the graph's. A plan without frees gets the tightest ones.
Result<PlanRecord> read_plan(const std::filesystem::path& path, const Graph& graph);
Result<PlanRecord> parse_plan(std::string text, const Graph& graph, const std::string& source = "plan");
std::string plan_to_json(const PlanRecord& record);

/// Blocks from elsewhere, with their names.
struct BlockTable {
  std::vector<std::string> ids;
  std::vector<Block> blocks;
};

/// CSV with the columns id, lower, upper (moments, `upper` not included) and size, in any order, as
/// minimalloc reads it. Other columns are ignored.
Result<BlockTable> read_blocks(const std::filesystem::path& path);
Result<BlockTable> parse_blocks(std::string_view text, const std::string& source = "blocks");
/// The same columns and `offset`.
std::string layout_to_csv(const BlockTable& table, const Layout& layout);

}  // namespace checkmate
#pragma GCC visibility pop
