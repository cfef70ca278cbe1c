#pragma once

#include <cstdint>
#include <vector>

#include "checkmate/graph.h"

namespace checkmate {

/// How many bytes, and how much cost, one unit of a search's amounts stands for.
struct SearchUnits {
  std::int64_t bytes = 1;
  std::int64_t cost = 1;

  /// Bytes and costs as they are, but larger units of bytes where sums would pass 2^51.
  static SearchUnits natural(const Graph& graph);
  /// The greatest common divisors: the smallest whole numbers.
  static SearchUnits common_divisors(const Graph& graph);
};

/// The graph as searches read it: flat arrays of plain numbers, rows end to end, ops and tensors by index.
/// Resident tensors are left out: no op reads them, they have no bytes and no users, and their producer is
/// kNoOp. Amounts are rounded up to whole units.
///
/// After all ops comes one more, the end, which costs nothing, makes nothing and reads the outputs: what
/// stays to the end is read there like any input.
template <class Amount>
struct FlatGraph {
  explicit FlatGraph(const Graph& graph, SearchUnits units = {});

  static constexpr std::uint32_t kNoOp = UINT32_MAX;
  using Row = Rows<std::uint32_t, std::uint32_t>;

  std::uint32_t end() const { return real_ops; }

  std::uint32_t real_ops;  ///< without the end
  std::uint32_t ops;       ///< with the end, unless it has nothing to read
  // Per op, the end included.
  std::vector<Amount> cost;
  std::vector<Amount> workspace;
  std::vector<Amount> made;  ///< workspace and outputs
  std::vector<bool> recomputable;
  Row inputs, outputs;  ///< tensors
  // Per tensor.
  std::vector<Amount> bytes;
  std::vector<std::uint32_t> producer;
  std::vector<std::uint32_t> slot;  ///< its place among its producer's outputs
  Row users;                        ///< ops in rising order, the end included
};

/// For annealing: amounts as doubles, whose sums are exact below 2^53, and the budget in the same units.
struct SearchGraph : FlatGraph<double> {
  SearchGraph(const Graph& graph, Bytes budget) : SearchGraph(graph, budget, SearchUnits::natural(graph)) {}
  SearchGraph(const Graph& graph, Bytes budget, SearchUnits units);

  /// Whether sums over all tensors, some of them counted twice, are exact.
  bool exact() const { return total_bytes < 0x1p51; }

  double budget;       ///< without the fixed bytes, rounded down
  double base_cost;    ///< of every op once
  double total_bytes;  ///< of all tensors and workspaces
  double byte_unit;    ///< bytes per unit
};

}  // namespace checkmate
