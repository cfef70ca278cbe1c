#include "solve/common/forward.h"

#include <algorithm>

namespace checkmate {
namespace {

std::vector<std::vector<std::uint32_t>> undirected_forward_graph(const Graph& graph, std::uint32_t size) {
  std::vector<std::vector<std::uint32_t>> neighbours(size);
  for (std::uint32_t op = 0; op < size; ++op) {
    for (const TensorId tensor : graph.inputs(OpId{op})) {
      if (graph.resident(tensor)) continue;
      const std::uint32_t producer = graph.producer(tensor)->value;
      neighbours[op].push_back(producer);
      neighbours[producer].push_back(op);
    }
  }
  return neighbours;
}

}  // namespace

std::uint32_t forward_size(const Graph& graph) {
  for (const OpId op : graph.ops()) {
    if (graph.phase(op) == Phase::kBackward || graph.phase(op) == Phase::kUpdate) return op.value;
  }
  return 0;
}

std::vector<std::uint32_t> last_forward_uses(const Graph& graph) {
  const std::uint32_t size = forward_size(graph);
  std::vector<std::uint32_t> last(size);
  for (std::uint32_t op = 0; op < size; ++op) {
    last[op] = op;
    for (const TensorId tensor : graph.outputs(OpId{op})) {
      for (const OpId user : graph.users(tensor)) {
        if (user.value < size) last[op] = std::max(last[op], user.value);
      }
    }
  }
  return last;
}

bool forward_is_chain(const Graph& graph) {
  const std::uint32_t size = forward_size(graph);
  for (std::uint32_t op = 0; op < size; ++op) {
    bool reads_previous = false;
    for (const TensorId tensor : graph.inputs(OpId{op})) {
      if (graph.resident(tensor)) continue;
      if (graph.producer(tensor)->value + 1 != op) return false;
      reads_previous = true;
    }
    if (op > 0 && !reads_previous) return false;
  }
  return size > 0;
}

/// Tarjan's low links, without recursion: a forward part may be a chain of a million ops.
std::vector<OpId> articulation_points(const Graph& graph) {
  const std::uint32_t size = forward_size(graph);
  const auto neighbours = undirected_forward_graph(graph, size);
  constexpr std::uint32_t kUnseen = UINT32_MAX;
  struct Visit {
    std::uint32_t op;
    std::uint32_t parent;
    std::size_t next = 0;
  };
  std::vector<std::uint32_t> found_at(size, kUnseen);
  std::vector<std::uint32_t> low(size);
  std::vector<bool> cuts(size);
  std::vector<Visit> path;
  std::uint32_t clock = 0;
  for (std::uint32_t root = 0; root < size; ++root) {
    if (found_at[root] != kUnseen) continue;
    std::size_t root_children = 0;
    found_at[root] = low[root] = clock++;
    path.push_back({root, kUnseen});
    while (!path.empty()) {
      Visit& visit = path.back();
      const std::uint32_t op = visit.op;
      if (visit.next < neighbours[op].size()) {
        const std::uint32_t other = neighbours[op][visit.next++];
        if (found_at[other] == kUnseen) {
          found_at[other] = low[other] = clock++;
          path.push_back({other, op});
        } else if (other != visit.parent) {
          low[op] = std::min(low[op], found_at[other]);
        }
        continue;
      }
      const std::uint32_t parent = visit.parent;
      path.pop_back();
      if (parent == kUnseen) continue;
      low[parent] = std::min(low[parent], low[op]);
      if (parent == root) {
        ++root_children;
      } else if (low[op] >= found_at[parent]) {
        cuts[parent] = true;
      }
    }
    if (root_children > 1) cuts[root] = true;
  }
  std::vector<OpId> points;
  for (std::uint32_t op = 0; op < size; ++op) {
    if (cuts[op]) points.push_back(OpId{op});
  }
  return points;
}

}  // namespace checkmate
