#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkmate/graph.h"

namespace checkmate {

/// The ops before the first backward or update op: what checkpointing methods cut into segments. 0 when there
/// is no backward op.
std::uint32_t forward_size(const Graph& graph);

/// Per forward op: the last forward op that reads one of its outputs, itself when there is none.
std::vector<std::uint32_t> last_forward_uses(const Graph& graph);

/// Whether forward op i reads exactly the outputs of op i-1 (resident tensors aside).
bool forward_is_chain(const Graph& graph);

/// The forward ops whose removal disconnects the undirected forward graph, in order. Linear time.
std::vector<OpId> articulation_points(const Graph& graph);

}  // namespace checkmate
