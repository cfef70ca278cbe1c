#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkmate/graph.h"

namespace checkmate {

/// Keep-all's stays in memory, and the graph without its resident tensors, as flat arrays of plain numbers
/// for loops that pass over a large graph many times. Ops and tensors are named by their index.
class Lifetimes {
 public:
  explicit Lifetimes(const Graph& graph);

  std::uint32_t op_count() const { return static_cast<std::uint32_t>(memory.size()); }
  std::span<const std::uint32_t> inputs(std::uint32_t op) const { return inputs_[op]; }
  std::span<const std::uint32_t> outputs(std::uint32_t op) const { return outputs_[op]; }
  /// The tensor is made before the moment, that is, the op, and used or wanted after it.
  bool crosses(std::uint32_t tensor, std::uint32_t moment) const {
    return producer[tensor] < moment && last_use[tensor] > moment;
  }
  /// The op at which keep-all's memory is largest, the first of them.
  std::uint32_t peak() const;

  // Per tensor.
  std::vector<std::uint32_t> producer;  ///< UINT32_MAX for a resident one
  std::vector<std::uint32_t> last_use;  ///< its producer without any, op_count() for an output
  std::vector<std::int64_t> bytes;      ///< 0 for a resident one
  // Per op.
  std::vector<std::int64_t> cost;
  std::vector<std::int64_t> own;     ///< workspace, outputs and inputs
  std::vector<std::int64_t> memory;  ///< while it runs in keep-all, without the fixed bytes

 private:
  Rows<std::uint32_t> inputs_, outputs_;
};

/// What it costs to drop each op's outputs after the moment and to bring them back: its own cost, and a share
/// of the ops before it whose outputs are gone by then, or would be, and must be brought back as well. Such
/// an op's cost is split among those that read it by the size of what they make. Per op before the moment.
std::vector<double> costs_to_bring_back(const Graph& graph, const Lifetimes& lifetimes, std::uint32_t moment);

}  // namespace checkmate
