#include "solve/common/lifetimes.h"

#include <algorithm>

namespace checkmate {

Lifetimes::Lifetimes(const Graph& graph)
    : producer(graph.tensor_count(), UINT32_MAX),
      last_use(graph.tensor_count()),
      bytes(graph.tensor_count()),
      cost(graph.op_count()),
      own(graph.op_count()),
      memory(graph.op_count()) {
  const auto ops = static_cast<std::uint32_t>(graph.op_count());
  for (const TensorId tensor : graph.tensors()) {
    if (graph.resident(tensor)) continue;
    const std::size_t t = tensor.index();
    producer[t] = graph.producer(tensor)->value;
    const auto users = graph.users(tensor);
    last_use[t] = graph.output(tensor) ? ops : users.empty() ? producer[t] : users.back().value;
    bytes[t] = graph.bytes(tensor).count();
    memory[producer[t]] += bytes[t];
    if (last_use[t] + 1 < ops) memory[last_use[t] + 1] -= bytes[t];
  }
  std::int64_t live = 0;
  for (const OpId op : graph.ops()) {
    const std::size_t o = op.index();
    live += memory[o];
    own[o] = graph.workspace(op).count();
    memory[o] = live + own[o];
    cost[o] = graph.cost(op).count();
    for (const TensorId tensor : graph.inputs(op)) {
      if (graph.resident(tensor)) continue;
      inputs_.push_item(tensor.value);
      own[o] += bytes[tensor.index()];
    }
    for (const TensorId tensor : graph.outputs(op)) {
      outputs_.push_item(tensor.value);
      own[o] += bytes[tensor.index()];
    }
    inputs_.end_row();
    outputs_.end_row();
  }
}

std::uint32_t Lifetimes::peak() const {
  return static_cast<std::uint32_t>(std::max_element(memory.begin(), memory.end()) - memory.begin());
}

std::vector<double> costs_to_bring_back(const Graph& graph, const Lifetimes& lifetimes,
                                        std::uint32_t moment) {
  std::vector<double> weight(moment);   // of an op as a reader
  std::vector<double> readers(moment);  // their weights, per op that is gone
  std::vector<bool> gone(moment);
  for (std::uint32_t op = 0; op < moment; ++op) {
    const auto outputs = lifetimes.outputs(op);
    gone[op] = graph.recomputable(OpId{op}) &&
               std::none_of(outputs.begin(), outputs.end(),
                            [&](std::uint32_t tensor) { return lifetimes.last_use[tensor] >= moment; });
    weight[op] = 1;
    for (const std::uint32_t tensor : outputs) weight[op] += static_cast<double>(lifetimes.bytes[tensor]);
    for (const std::uint32_t tensor : lifetimes.inputs(op)) readers[lifetimes.producer[tensor]] += weight[op];
  }
  std::vector<double> costs(moment);
  for (std::uint32_t op = 0; op < moment; ++op) {
    costs[op] = static_cast<double>(lifetimes.cost[op]);
    for (const std::uint32_t tensor : lifetimes.inputs(op)) {
      const std::uint32_t from = lifetimes.producer[tensor];
      if (gone[from]) costs[op] += costs[from] * weight[op] / readers[from];
    }
  }
  return costs;
}

}  // namespace checkmate
