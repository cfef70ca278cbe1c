#pragma once

#include <string>

#include "checkmate/graph.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// An op with its distinct inputs, its outputs and its workspace must fit: no plan of any order needs less.
struct StructuralMinimum {
  Bytes bytes;  ///< without the fixed bytes
  OpId op;      ///< the first op that needs them
};
StructuralMinimum structural_minimum(const Graph& graph);

/// `op 3 'conv1' alone needs ...`: why no plan fits in less than the structural minimum.
std::string describe(const Graph& graph, const StructuralMinimum& minimum);

}  // namespace checkmate
#pragma GCC visibility pop
