#include "solve/common/search_graph.h"

#include <algorithm>
#include <numeric>

namespace checkmate {

SearchUnits SearchUnits::natural(const Graph& graph) {
  constexpr std::int64_t kExact = std::int64_t{1} << 51;
  std::int64_t all_bytes = 0;  // of a graph, these sums do not overflow
  for (const TensorId tensor : graph.tensors()) {
    if (!graph.resident(tensor)) all_bytes += graph.bytes(tensor).count();
  }
  for (const OpId op : graph.ops()) all_bytes += graph.workspace(op).count();
  return {.bytes = all_bytes / kExact + 1};
}

SearchUnits SearchUnits::common_divisors(const Graph& graph) {
  SearchUnits units = {0, 0};
  for (const TensorId tensor : graph.tensors()) {
    if (!graph.resident(tensor)) units.bytes = std::gcd(units.bytes, graph.bytes(tensor).count());
  }
  for (const OpId op : graph.ops()) {
    units.bytes = std::gcd(units.bytes, graph.workspace(op).count());
    units.cost = std::gcd(units.cost, graph.cost(op).count());
  }
  return {std::max<std::int64_t>(units.bytes, 1), std::max<std::int64_t>(units.cost, 1)};
}

template <class Amount>
FlatGraph<Amount>::FlatGraph(const Graph& graph, SearchUnits units)
    : real_ops(static_cast<std::uint32_t>(graph.op_count())), ops(real_ops) {
  const auto scaled = [](std::int64_t count, std::int64_t unit) {
    const std::int64_t whole = count / unit + (count % unit == 0 ? 0 : 1);
    return static_cast<Amount>(whole);
  };
  std::vector<std::uint32_t> wanted;
  slot.resize(graph.tensor_count());
  for (const TensorId tensor : graph.tensors()) {
    const bool resident = graph.resident(tensor);
    bytes.push_back(resident ? 0 : scaled(graph.bytes(tensor).count(), units.bytes));
    producer.push_back(resident ? kNoOp : graph.producer(tensor)->value);
    if (!resident) {
      for (const OpId user : graph.users(tensor)) users.push_item(user.value);
    }
    if (graph.output(tensor)) {
      users.push_item(end());
      wanted.push_back(tensor.value);
    }
    users.end_row();
  }
  for (const OpId op : graph.ops()) {
    cost.push_back(scaled(graph.cost(op).count(), units.cost));
    recomputable.push_back(graph.recomputable(op));
    for (const TensorId tensor : graph.inputs(op)) {
      if (!graph.resident(tensor)) inputs.push_item(tensor.value);
    }
    inputs.end_row();
    workspace.push_back(scaled(graph.workspace(op).count(), units.bytes));
    made.push_back(workspace.back());
    std::uint32_t place = 0;
    for (const TensorId tensor : graph.outputs(op)) {
      outputs.push_item(tensor.value);
      slot[tensor.index()] = place++;
      made.back() += bytes[tensor.index()];
    }
    outputs.end_row();
  }
  if (!wanted.empty()) ++ops;
  cost.push_back(0);
  workspace.push_back(0);
  made.push_back(0);
  recomputable.push_back(false);
  inputs.push(wanted);
  outputs.end_row();
}

template struct FlatGraph<double>;
template struct FlatGraph<std::int64_t>;

SearchGraph::SearchGraph(const Graph& graph, Bytes whole_budget, SearchUnits units)
    : FlatGraph(graph, units),
      base_cost(std::accumulate(cost.begin(), cost.end(), 0.0)),
      total_bytes(std::accumulate(made.begin(), made.end(), 0.0)),
      byte_unit(static_cast<double>(units.bytes)) {
  const std::int64_t whole_units = (whole_budget - graph.fixed_bytes()).count() / units.bytes;
  budget = static_cast<double>(whole_units);
}

}  // namespace checkmate
