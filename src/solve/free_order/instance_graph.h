#pragma once

#include <cstdint>
#include <vector>

#include "checkmate/graph.h"

namespace checkmate {

/// The graph as the search over instances sees it: no resident tensors; amounts as doubles, in units of their
/// greatest common divisor, so that sums are exact below 2^53; and after all ops one more, the end, which
/// costs nothing and reads the outputs, so that what stays to the end is read like anything else.
struct InstanceGraph {
  InstanceGraph(const Graph& graph, Bytes budget);

  struct Op {
    double cost = 0;
    double own = 0;        ///< bytes of its outputs and workspace
    double workspace = 0;  ///< bytes
    bool recomputable = true;
    std::vector<std::uint32_t> inputs;   ///< tensors
    std::vector<std::uint32_t> outputs;  ///< tensors
  };
  struct Tensor {
    double bytes = 0;
    std::uint32_t producer = 0;
    std::uint32_t slot = 0;  ///< which of its producer's outputs it is
  };

  std::uint32_t end() const { return static_cast<std::uint32_t>(ops.size()) - 1; }
  /// Whether sums over all tensors, and some of them twice, are exact.
  bool exact() const { return total_bytes < 0x1p51; }

  std::vector<Op> ops;
  std::vector<Tensor> tensors;
  double byte_unit = 1;  ///< bytes in one unit of size
  double budget = 0;     ///< without the fixed bytes
  double total_bytes = 0;
  double total_cost = 0;
};

}  // namespace checkmate
