#include "checkmate/layout.h"
#include "checkmate/simulate.h"
#include "core/try.h"

namespace checkmate {

Result<std::vector<Block>> blocks_of(const Graph& graph, const Plan& plan) {
  CHECKMATE_TRY(const Simulation simulation, simulate(graph, plan));
  const auto steps = static_cast<std::uint32_t>(plan.steps.size());
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of(graph.tensor_count());  // the latest stay of each tensor
  for (std::uint32_t step = 0; step < steps; ++step) {
    const OpId op = plan.steps[step];
    for (const TensorId tensor : graph.outputs(op)) {
      block_of[tensor.index()] = blocks.size();
      blocks.push_back({graph.bytes(tensor), step, steps});
    }
    if (graph.workspace(op) > Bytes{0}) blocks.push_back({graph.workspace(op), step, step + 1});
    for (const TensorId tensor : plan.frees.after(step)) blocks[block_of[tensor.index()]].last = step + 1;
  }
  return blocks;
}

}  // namespace checkmate
