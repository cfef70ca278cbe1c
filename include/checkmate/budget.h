#pragma once

#include <string_view>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/units.h"

namespace checkmate {

/// The bytes that `text` allows a plan of the graph: a size (`6GiB`, `16GB`, `12345`), fixed bytes included,
/// or a share of keep-all's peak without the fixed bytes (`50%`, above 0 and at most 100), to which the fixed
/// bytes are added.
Result<Bytes> parse_budget(const Graph& graph, std::string_view text);

}  // namespace checkmate
