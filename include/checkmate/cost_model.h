#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "checkmate/graph.h"
#include "checkmate/result.h"

/// What ops cost, by the models of docs/cost_models.md. Only costs and their unit change: ops, tensors and
/// their order stay.
namespace checkmate {

/// The graph with the costs of a model:
///
///     file                     as they are
///     flops                    two a multiply-accumulate; unit `flop`
///     roofline:DEVICE[:TYPE]   from peak rate, bandwidth and launch time of a device; unit `ns`
///     profile:FILE[?batch=B]   measured times from a `checkmate.profile` file; unit `ns`
///
/// `flops` and `roofline` need a graph whose unit is `mac` or `flop`. A device and a type may be written in
/// any case; the type is fp32 where none is given. `profile` alone reads a file; the graph's batch is the one
/// given or else the `?batch=B` of the graph's name. Errors: an unknown model, device or type, another unit,
/// a batch that is not known, a file that is wrong or lacks ops, costs past kLargestTotal. Linear time.
Result<Graph> with_cost_model(Graph graph, std::string_view spec);

/// The devices that `roofline` knows, in the order of docs/cost_models.md.
std::span<const std::string_view> cost_devices();

/// How many ops have a kind that `roofline` does not know and takes for element-wise; worth a warning.
std::size_t unknown_kind_count(const Graph& graph);

}  // namespace checkmate
