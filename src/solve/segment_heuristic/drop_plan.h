#pragma once

#include <cstdint>
#include <vector>

#include "solve/common/lifetimes.h"

namespace checkmate {

/// What is not kept over a moment although it is used after it, and what is although it is not.
struct DropSet {
  std::vector<std::uint32_t> ops;  ///< whose droppable outputs are dropped after their last use before it
  std::vector<std::uint32_t>
      kept_on;  ///< tensors that may be used to bring others back, so need not be themselves
};

/// Turns drop sets into plans that keep all up to one moment, and after it bring back what is missing when it
/// is first used, each op once. Made for many sets of a large graph: all arrays are reused.
class DropPlan {
 public:
  DropPlan(const Graph& graph, const Lifetimes& lifetimes, std::uint32_t moment);

  /// The bytes that the op's dropping frees at the moment: 0 if it runs only once, and for outputs of the
  /// graph and tensors that the moment's op reads.
  std::int64_t droppable(std::uint32_t op) const { return droppable_bytes_[op]; }

  struct Built {
    std::vector<OpId> steps;
    std::vector<std::int64_t> memory;  ///< while each step runs, without the fixed bytes
    std::int64_t cost = 0;
    std::int64_t peak = 0;  ///< the most of it
  };
  /// Linear in the steps and the edges they run. The result lives until the next call.
  const Built& build(const DropSet& set);

 private:
  bool droppable_tensor(std::uint32_t tensor) const;
  void forget(const DropSet& set);
  void bring_back_inputs(std::uint32_t op);
  void measure();

  const Graph& graph_;
  const Lifetimes& lifetimes_;
  std::uint32_t moment_;
  std::vector<std::int64_t> droppable_bytes_;  // per op before the moment
  std::vector<char> here_at_first_, here_;     // per tensor: in memory, or yet to be made
  std::vector<std::uint32_t> missing_, pending_;
  std::vector<std::uint32_t> last_;   // per tensor: the step of its latest run or use
  std::vector<std::int64_t> change_;  // per step: of the live bytes
  Built built_;
};

}  // namespace checkmate
