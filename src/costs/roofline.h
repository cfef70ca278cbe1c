#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"

namespace checkmate {

/// Which limit of a device an op meets first: the rate of its matrix units, the rate of its ordinary
/// arithmetic, or only its bandwidth.
enum class OpClass : std::uint8_t { kMatrix, kVector, kMovement };

/// By the table of docs/cost_models.md; a gradient (`_grad`, `_backward`) has the class of what it is the
/// gradient of. Nothing for a kind that is not in the table.
std::optional<OpClass> op_class(std::string_view kind);

/// Nanoseconds per op: launch time + max(flops / rate, bytes moved / bandwidth). `device` is `DEVICE` or
/// `DEVICE:TYPE`; `flops_per_cost` is how many floating-point operations one unit of the graph's cost stands
/// for.
Result<std::vector<Cost>> roofline_costs(const Graph& graph, std::string_view device, double flops_per_cost);

}  // namespace checkmate
