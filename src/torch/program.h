#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "torch/captured.h"

/// A training step as units of work over blocks of storage: what a plan orders and the runtime runs.
///
/// A unit is an op that makes new storages, together with the ops, most of them pointwise, that may write
/// over its result in place:
///
///     convolution -> native_batch_norm -> relu        units: [convolution] [native_batch_norm, relu_]
namespace checkmate::torch {

using UnitId = std::uint32_t;

/// A block of memory.
struct Block {
  std::string name;
  std::int64_t bytes;
  std::optional<UnitId> unit;  ///< the one that makes it; nothing: resident
  bool output = false;
};

/// One op of a unit.
struct UnitCall {
  NodeId node;
  c10::OperatorHandle op;  ///< the node's, or its form that writes in place
  std::optional<std::uint32_t>
      written;  ///< which argument of the node is written over: it comes first in `op`
};

struct Unit {
  std::vector<UnitCall> calls = {};
  std::vector<StorageId> reads = {};
  std::vector<StorageId> makes = {};
  bool effect = false;
  bool random = false;
  /// Whether its first run must keep its place among other such units.
  bool ordered() const { return effect || random; }
};

/// Units in the order in which the step runs them.
struct Program {
  std::shared_ptr<const Captured> captured;
  std::vector<Unit> units = {};
  std::vector<Block> blocks = {};
  std::vector<StorageId> block_of = {};  ///< of each storage that was captured

  const Node& node(const UnitCall& call) const { return captured->nodes[call.node]; }
  const Node& first_node(const Unit& unit) const { return node(unit.calls[0]); }
  StorageId block(ValueId value) const { return block_of[captured->values[value].storage]; }
};

/// Units in the order of the step, those that can write in place joined. What neither a result nor a random
/// number needs is left out.
Program lower(std::shared_ptr<const Captured> captured);

/// Moves each op that can write over its input into the unit that makes that input. Writing in place costs a
/// plan nothing: the value in between is read by no one else and has the same size.
void write_in_place(Program& program);

}  // namespace checkmate::torch
