#include "solve/segment_heuristic/drop_plan.h"

#include <algorithm>

namespace checkmate {

DropPlan::DropPlan(const Graph& graph, const Lifetimes& lifetimes, std::uint32_t moment)
    : graph_(graph),
      lifetimes_(lifetimes),
      moment_(moment),
      droppable_bytes_(moment),
      here_at_first_(graph.tensor_count(), 1),
      last_(graph.tensor_count()) {
  std::vector<bool> read(graph.tensor_count());
  for (const std::uint32_t tensor : lifetimes.inputs[moment]) read[tensor] = true;
  for (std::uint32_t op = 0; op < moment; ++op) {
    for (const std::uint32_t tensor : lifetimes.outputs[op]) {
      if (!droppable_tensor(tensor)) continue;
      if (lifetimes.last_use[tensor] <= moment) {
        here_at_first_[tensor] = 0;
      } else if (!read[tensor]) {
        droppable_bytes_[op] += lifetimes.bytes[tensor];
      }
    }
  }
}

bool DropPlan::droppable_tensor(std::uint32_t tensor) const {
  return graph_.recomputable(OpId{lifetimes_.producer[tensor]}) && !graph_.output(TensorId{tensor});
}

const DropPlan::Built& DropPlan::build(const DropSet& set) {
  here_ = here_at_first_;
  forget(set);
  built_.steps.clear();
  built_.cost = 0;
  for (std::uint32_t op = 0; op < lifetimes_.op_count(); ++op) {
    if (op > moment_) bring_back_inputs(op);
    built_.steps.push_back(OpId{op});
    built_.cost += lifetimes_.cost[op];
  }
  measure();
  return built_;
}

void DropPlan::forget(const DropSet& set) {
  for (const std::uint32_t tensor : set.kept_on) here_[tensor] = 1;
  for (const std::uint32_t op : set.ops) {
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      if (droppable_tensor(tensor)) here_[tensor] = 0;
    }
  }
  for (const std::uint32_t tensor : lifetimes_.inputs[moment_]) here_[tensor] = 1;
}

void DropPlan::bring_back_inputs(std::uint32_t op) {
  missing_.clear();
  pending_.assign(1, op);
  while (!pending_.empty()) {
    const std::uint32_t user = pending_.back();
    pending_.pop_back();
    for (const std::uint32_t tensor : lifetimes_.inputs[user]) {
      if (here_[tensor] != 0) continue;
      const std::uint32_t producer = lifetimes_.producer[tensor];
      for (const std::uint32_t made : lifetimes_.outputs[producer]) here_[made] = 1;
      missing_.push_back(producer);
      pending_.push_back(producer);
    }
  }
  std::sort(missing_.begin(), missing_.end());
  for (const std::uint32_t again : missing_) {
    built_.steps.push_back(OpId{again});
    built_.cost += lifetimes_.cost[again];
  }
}

void DropPlan::measure() {
  change_.assign(built_.steps.size() + 1, 0);
  constexpr std::uint32_t kNotYet = UINT32_MAX;
  last_.assign(last_.size(), kNotYet);
  for (std::uint32_t step = 0; step < built_.steps.size(); ++step) {
    const std::uint32_t op = built_.steps[step].value;
    for (const std::uint32_t tensor : lifetimes_.inputs[op]) last_[tensor] = step;
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      if (last_[tensor] != kNotYet) change_[last_[tensor] + 1] -= lifetimes_.bytes[tensor];
      change_[step] += lifetimes_.bytes[tensor];
      last_[tensor] = step;
    }
  }
  for (std::size_t tensor = 0; tensor < last_.size(); ++tensor) {
    if (last_[tensor] != kNotYet && lifetimes_.last_use[tensor] < lifetimes_.op_count())
      change_[last_[tensor] + 1] -= lifetimes_.bytes[tensor];
  }
  std::int64_t live = 0;
  built_.peak = 0;
  built_.memory.resize(built_.steps.size());
  for (std::size_t step = 0; step < built_.steps.size(); ++step) {
    live += change_[step];
    built_.memory[step] = live + graph_.workspace(built_.steps[step]).count();
    built_.peak = std::max(built_.peak, built_.memory[step]);
  }
}

}  // namespace checkmate
