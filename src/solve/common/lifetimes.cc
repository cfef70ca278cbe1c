#include "solve/common/lifetimes.h"

#include <algorithm>

namespace checkmate {

Lifetimes::Lifetimes(const Graph& graph)
    : FlatGraph(graph), last_use(graph.tensor_count()), own(made), memory(real_ops) {
  own.resize(real_ops);
  for (std::uint32_t tensor = 0; tensor < last_use.size(); ++tensor) {
    if (producer[tensor] == kNoOp) continue;
    last_use[tensor] = users[tensor].empty() ? producer[tensor] : users[tensor].back();
    memory[producer[tensor]] += bytes[tensor];
    if (last_use[tensor] + 1 < real_ops) memory[last_use[tensor] + 1] -= bytes[tensor];
  }
  std::int64_t live = 0;
  for (std::uint32_t op = 0; op < real_ops; ++op) {
    live += memory[op];
    memory[op] = live + workspace[op];
    for (const std::uint32_t tensor : inputs[op]) own[op] += bytes[tensor];
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
    const auto outputs = lifetimes.outputs[op];
    gone[op] = graph.recomputable(OpId{op}) &&
               std::none_of(outputs.begin(), outputs.end(),
                            [&](std::uint32_t tensor) { return lifetimes.last_use[tensor] >= moment; });
    weight[op] = 1;
    for (const std::uint32_t tensor : outputs) weight[op] += static_cast<double>(lifetimes.bytes[tensor]);
    for (const std::uint32_t tensor : lifetimes.inputs[op]) readers[lifetimes.producer[tensor]] += weight[op];
  }
  std::vector<double> costs(moment);
  for (std::uint32_t op = 0; op < moment; ++op) {
    costs[op] = static_cast<double>(lifetimes.cost[op]);
    for (const std::uint32_t tensor : lifetimes.inputs[op]) {
      const std::uint32_t from = lifetimes.producer[tensor];
      if (gone[from]) costs[op] += costs[from] * weight[op] / readers[from];
    }
  }
  return costs;
}

}  // namespace checkmate
