#include "checkmate/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/try.h"

namespace checkmate {

std::string_view to_string(Order order) { return order == Order::kFixed ? "fixed" : "free"; }

std::optional<Order> parse_order(std::string_view text) {
  if (text == "fixed") return Order::kFixed;
  if (text == "free") return Order::kFree;
  return std::nullopt;
}

Result<Frees> tightest_frees(const Graph& graph, std::span<const OpId> steps) {
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (steps[step].index() >= graph.op_count()) {
      return Error{ErrorCode::kInvalidPlan, fmt::format("step {} runs op {}, but the graph has ops 0 to {}",
                                                        step, steps[step].value, graph.op_count() - 1)};
    }
  }
  // Backwards in time: a tensor is needed from a use back to the run before it, an output from the end.
  std::vector<bool> needed(graph.tensor_count());
  for (const TensorId tensor : graph.tensors()) needed[tensor.index()] = graph.output(tensor);
  std::vector<TensorId> freed;
  std::vector<std::size_t> begins(steps.size() + 1);
  for (std::size_t step = steps.size(); step-- > 0;) {
    begins[step + 1] = freed.size();
    for (const TensorId tensor : graph.outputs(steps[step])) {
      if (!needed[tensor.index()]) freed.push_back(tensor);
      needed[tensor.index()] = false;
    }
    for (const TensorId tensor : graph.inputs(steps[step])) {
      if (graph.resident(tensor) || needed[tensor.index()]) continue;
      freed.push_back(tensor);
      needed[tensor.index()] = true;
    }
  }
  begins[0] = freed.size();
  Frees frees;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    frees.push_step(std::span(freed).subspan(begins[step + 1], begins[step] - begins[step + 1]));
  }
  return frees;
}

Result<Plan> plan_from_steps(const Graph& graph, std::vector<OpId> steps) {
  CHECKMATE_TRY(Frees frees, tightest_frees(graph, steps));
  return Plan{.steps = std::move(steps), .frees = std::move(frees)};
}

Plan keep_all_plan(const Graph& graph) {
  std::vector<OpId> steps(graph.ops().begin(), graph.ops().end());
  return *plan_from_steps(graph, std::move(steps));
}

}  // namespace checkmate
