#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkmate/graph.h"

namespace checkmate {

/// A tensor that some op makes, numbered in the order of the ops: inputs are smaller than outputs.
using Value = std::uint32_t;

/// A graph seen from the end: what had to be in memory just before the latest run. Bytes are without the
/// fixed ones. Immutable; O(values + edges) memory, and a bit for each value and op that runs once.
class ValueSets {
 public:
  explicit ValueSets(const Graph& graph);

  std::size_t value_count() const { return bytes_.size(); }
  OpId maker(Value value) const { return maker_[value]; }
  std::int64_t bytes(Value value) const { return bytes_[value]; }
  bool all_recomputable() const { return all_recomputable_; }

  /// Sets of values that every plan has in memory at once, some time or other, such that each op makes one of
  /// them or an ancestor of one: all outputs of the graph, and one of each op that nothing reads. Each set is
  /// in order.
  const std::vector<std::vector<Value>>& targets() const { return targets_; }

  /// Just before and while an op ran.
  struct Before {
    static constexpr std::int64_t kNever = INT64_MAX;
    std::int64_t memory = kNever;    ///< while it ran, with the rest of the set; kNever: it cannot have run
    std::vector<Value> values = {};  ///< in order
  };
  /// `set`, in order, is in memory, and the latest run was that of `op`, which made one of it or more. An op
  /// that runs once cannot have been the latest while something made from it is there.
  void before(std::span<const Value> set, OpId op, Before& result) const;

 private:
  bool made_from(Value value, OpId op) const;
  void find_descendants(const Graph& graph);

  struct Op {
    Value first_output, end_output;
    std::uint32_t first_input, end_input;  // in inputs_
    std::int64_t own;                      // inputs, outputs and workspace
    std::uint32_t once = kAgain;           // its row in made_from_, unless it may run again
  };
  static constexpr std::uint32_t kAgain = UINT32_MAX;

  std::vector<Op> ops_;
  std::vector<Value> inputs_;
  std::vector<OpId> maker_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::vector<Value>> targets_;
  std::vector<bool> made_from_;  // row by row, one column per value
  bool all_recomputable_ = true;
};

}  // namespace checkmate
