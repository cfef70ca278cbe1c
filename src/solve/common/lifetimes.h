#pragma once

#include <cstdint>
#include <vector>

#include "solve/common/search_graph.h"

namespace checkmate {

/// The graph for searches, with keep-all's stays in memory. A moment is named by the op that runs at it.
struct Lifetimes : FlatGraph<std::int64_t> {
  explicit Lifetimes(const Graph& graph);

  std::uint32_t op_count() const { return real_ops; }
  /// The tensor is made before the moment, and used or wanted after it.
  bool crosses(std::uint32_t tensor, std::uint32_t moment) const {
    return producer[tensor] < moment && last_use[tensor] > moment;
  }
  /// The op at which keep-all's memory is largest, the first of them.
  std::uint32_t peak() const;

  std::vector<std::uint32_t> last_use;  ///< per tensor: its producer without any use, end() for an output
  // Per op.
  std::vector<std::int64_t> own;     ///< workspace, outputs and inputs
  std::vector<std::int64_t> memory;  ///< while it runs in keep-all, without the fixed bytes
};

/// What it costs to drop each op's outputs after the moment and to bring them back: its own cost, and a share
/// of the ops before it whose outputs are gone by then, or would be, and must be brought back as well. Such
/// an op's cost is split among those that read it by the size of what they make. Per op before the moment.
std::vector<double> costs_to_bring_back(const Graph& graph, const Lifetimes& lifetimes, std::uint32_t moment);

}  // namespace checkmate
