#include <fmt/format.h>

#include <array>

#include "checkmate/io.h"

namespace checkmate {
namespace {

std::string dot_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + '"';
}

constexpr std::array<std::string_view, kPhaseCount> kColours = {"lightblue", "khaki", "lightsalmon",
                                                                "lightgrey"};

}  // namespace

std::string graph_to_dot(const Graph& graph) {
  std::string dot = fmt::format("digraph {} {{\n  rankdir=LR;\n  node [shape=box, style=filled];\n",
                                dot_quoted(graph.name()));
  for (const OpId op : graph.ops()) {
    dot += fmt::format("  {} [label={}, fillcolor={}];\n", op.value, dot_quoted(graph.name(op)),
                       kColours.at(static_cast<std::size_t>(graph.phase(op))));
  }
  for (const TensorId tensor : graph.tensors()) {
    if (graph.resident(tensor)) continue;
    for (const OpId user : graph.users(tensor)) {
      dot += fmt::format("  {} -> {} [label=\"{}\"];\n", graph.producer(tensor)->value, user.value,
                         to_string(graph.bytes(tensor)));
    }
  }
  return dot + "}\n";
}

}  // namespace checkmate
