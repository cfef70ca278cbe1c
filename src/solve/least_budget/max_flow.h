#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace checkmate {

/// The largest flow from one node to another, in whole numbers, by Dinic's method: again and again for the
/// same edges with other capacities. A flow is at most the capacity of any cut, and the largest flow is the
/// least cut.
class MaxFlow {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;
  using Node = std::uint32_t;
  using Edge = std::uint32_t;

  /// Edges are numbered as they are added. No edge is added once find() has been called.
  Edge add_edge(Node from, Node to);
  void set_capacity(Edge edge, std::int64_t capacity) { capacity_[edge] = capacity; }
  /// `enough` where the flow is no less than that. O(nodes^2 x edges) at worst, much less in practice.
  std::int64_t find(Node source, Node sink, std::int64_t enough);

 private:
  void sort_edges();
  bool find_levels(Node source, Node sink);
  std::int64_t push(Node source, Node sink, std::int64_t most);

  struct Half {
    Node to;
    std::uint32_t back;  // where the same edge stands at its other end
  };
  std::vector<std::pair<Node, Node>> edges_;
  std::vector<std::int64_t> capacity_;
  std::vector<std::uint32_t> place_;  // of an edge, in halves_
  std::vector<std::uint32_t> first_;  // by node, in halves_
  std::vector<Half> halves_;
  std::vector<std::int64_t> left_;  // of each half's capacity
  std::vector<std::uint32_t> level_, next_;
  std::vector<Node> queue_;
  std::vector<std::uint32_t> way_;
};

}  // namespace checkmate
