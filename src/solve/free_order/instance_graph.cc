#include "solve/free_order/instance_graph.h"

#include <algorithm>
#include <numeric>

namespace checkmate {

InstanceGraph::InstanceGraph(const Graph& graph, Bytes whole_budget) {
  std::int64_t size_unit = 0;
  std::int64_t cost_unit = 0;
  for (const TensorId tensor : graph.tensors())
    if (!graph.resident(tensor)) size_unit = std::gcd(size_unit, graph.bytes(tensor).count());
  for (const OpId op : graph.ops()) {
    size_unit = std::gcd(size_unit, graph.workspace(op).count());
    cost_unit = std::gcd(cost_unit, graph.cost(op).count());
  }
  size_unit = std::max<std::int64_t>(size_unit, 1);
  cost_unit = std::max<std::int64_t>(cost_unit, 1);
  const auto in_units = [&](Bytes bytes) {
    const std::int64_t units = bytes.count() / size_unit;
    return static_cast<double>(units);
  };

  std::vector<std::uint32_t> number(graph.tensor_count());
  ops.resize(graph.op_count() + 1);
  for (const OpId id : graph.ops()) {
    Op& op = ops[id.index()];
    const std::int64_t cost = graph.cost(id).count() / cost_unit;
    op.cost = static_cast<double>(cost);
    op.workspace = op.own = in_units(graph.workspace(id));
    op.recomputable = graph.recomputable(id);
    for (const TensorId input : graph.inputs(id))
      if (!graph.resident(input)) op.inputs.push_back(number[input.index()]);
    for (const TensorId output : graph.outputs(id)) {
      const auto tensor = static_cast<std::uint32_t>(tensors.size());
      number[output.index()] = tensor;
      tensors.push_back(
          {in_units(graph.bytes(output)), id.value, static_cast<std::uint32_t>(op.outputs.size())});
      op.own += tensors.back().bytes;
      op.outputs.push_back(tensor);
      if (graph.output(output)) ops.back().inputs.push_back(tensor);
    }
    total_bytes += op.own;
    total_cost += op.cost;
  }
  ops.back().recomputable = false;
  byte_unit = static_cast<double>(size_unit);
  budget = in_units(whole_budget - graph.fixed_bytes());
}

}  // namespace checkmate
