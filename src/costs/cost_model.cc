#include "checkmate/cost_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "checkmate/file.h"
#include "core/text.h"
#include "core/try.h"
#include "costs/profile.h"
#include "costs/roofline.h"

namespace checkmate {
namespace {

/// What one unit of the graph's cost stands for, for the models that start from arithmetic.
Result<std::int64_t> flops_per_cost(const Graph& graph) {
  if (graph.cost_unit() == "mac") return 2;
  if (graph.cost_unit() == "flop") return 1;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("needs costs in mac or flop, but graph {} has them in {}; use them as they are "
                           "(file), or correct the graph's cost_unit if they count arithmetic",
                           in_quotes(graph.name()), in_quotes(graph.cost_unit()))};
}

Result<Graph> with_flops(const Graph& graph) {
  CHECKMATE_TRY(const std::int64_t factor, flops_per_cost(graph));
  std::vector<Cost> costs;
  costs.reserve(graph.op_count());
  for (const OpId op : graph.ops()) {
    std::int64_t flops = 0;
    // with_costs() refuses the largest number, and says why.
    if (__builtin_mul_overflow(graph.cost(op).count(), factor, &flops))
      flops = std::numeric_limits<std::int64_t>::max();
    costs.emplace_back(flops);
  }
  return graph.with_costs(costs, "flop");
}

Result<Graph> with_roofline(const Graph& graph, std::string_view device) {
  CHECKMATE_TRY(const std::int64_t factor, flops_per_cost(graph));
  CHECKMATE_TRY(const std::vector<Cost> costs, roofline_costs(graph, device, static_cast<double>(factor)));
  return graph.with_costs(costs, "ns");
}

Result<std::int64_t> find_batch(const Graph& graph, std::optional<std::string_view> given) {
  if (given) {
    if (const std::optional<std::int64_t> batch = parse_batch(*given)) return *batch;
    return Error{ErrorCode::kInvalidArgument, fmt::format("batch must be a whole number from 1 to {}, got {}",
                                                          kLargestBatch, in_quotes(*given))};
  }
  if (const std::optional<std::int64_t> batch = batch_in_name(graph.name())) return *batch;
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("the batch of graph {} is unknown; write profile:FILE?batch=B", in_quotes(graph.name()))};
}

Result<Graph> with_profile(const Graph& graph, std::string_view argument) {
  // Only this may follow the file, whose name may have a question mark of its own.
  constexpr std::string_view kBatch = "?batch=";
  const std::size_t query = argument.rfind(kBatch);
  const std::string path(argument.substr(0, query));
  if (path.empty()) return Error{ErrorCode::kInvalidArgument, "no file is given; write profile:FILE"};
  std::optional<std::string_view> given;
  if (query != std::string_view::npos) given = argument.substr(query + kBatch.size());
  CHECKMATE_TRY(const std::int64_t batch, find_batch(graph, given));

  CHECKMATE_TRY(std::string text, read_file(path));
  CHECKMATE_TRY(const Profile profile, parse_profile(std::move(text), path));
  CHECKMATE_TRY(const std::vector<Cost> costs, profile_costs(graph, profile, batch));
  return graph.with_costs(costs, "ns");
}

Result<Graph> apply(Graph graph, std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view model = spec.substr(0, colon);
  const std::string_view argument = colon == std::string_view::npos ? "" : spec.substr(colon + 1);
  if (spec == "file") return graph;
  if (spec == "flops") return with_flops(graph);
  if (model == "roofline") return with_roofline(graph, argument);
  if (model == "profile") return with_profile(graph, argument);
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown; known are file, flops, roofline:DEVICE[:TYPE] (devices {}) and "
                           "profile:FILE[?batch=B]",
                           fmt::join(cost_devices(), ", "))};
}

}  // namespace

Result<Graph> with_cost_model(Graph graph, std::string_view spec) {
  Result<Graph> result = apply(std::move(graph), spec);
  // Errors of a file name it already.
  if (!result && result.error().code == ErrorCode::kInvalidArgument)
    return result.error().at(fmt::format("cost model {}", in_quotes(spec)));
  return result;
}

}  // namespace checkmate
