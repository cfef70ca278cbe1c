#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "checkmate/graph.h"
#include "checkmate/result.h"

#pragma GCC visibility push(default)
/// What ops cost, according to the models of docs/cost_models.md. Only the costs and their unit change; ops,
/// tensors and their order stay the same.
namespace checkmate {

/// The graph with the costs of a model:
///
///     file                     as they are
///     flops                    two per multiply-accumulate; unit `flop`
///     roofline:DEVICE[:TYPE]   from peak rate, bandwidth and launch time of a device; unit `ns`
///     profile:FILE[?batch=B]   measured times from a `checkmate.profile` file; unit `ns`
///
/// `flops` and `roofline` need a graph whose unit is `mac` or `flop`. Devices and types are not
/// case-sensitive; the type is fp32 by default. Only `profile` reads a file; the batch is the one given or
/// else the `?batch=B` in the graph's name. Errors: an unknown model, device or type; another unit; an
/// unknown batch; a file that is invalid or lacks ops; costs above kLargestTotal. Linear time.
Result<Graph> with_cost_model(Graph graph, std::string_view spec);

/// The devices that `roofline` knows, in the order of docs/cost_models.md.
std::span<const std::string_view> cost_devices();

/// The number of ops whose kind `roofline` does not know; it treats them as element-wise. `checkmate info`
/// shows it.
std::size_t unknown_kind_count(const Graph& graph);

}  // namespace checkmate
#pragma GCC visibility pop
