#include "checkmate/simulate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/guarded.h"
#include "core/text.h"
#include "core/try.h"

namespace checkmate {
namespace {

constexpr std::uint32_t kAbsent = UINT32_MAX;

class Machine {
 public:
  Machine(const Graph& graph, const Plan& plan)
      : graph_(graph), plan_(plan), made_at_(graph.tensor_count(), kAbsent) {
    result_.memory.reserve(plan.steps.size());
    result_.run_counts.assign(graph.op_count(), 0);
  }

  Result<Simulation> run() {
    if (plan_.steps.size() >= kAbsent) return failure("the plan has 2^32 steps or more");
    if (plan_.frees.step_count() != plan_.steps.size()) {
      return failure(fmt::format("the plan has {} but frees for {}", counted(plan_.steps.size(), "step"),
                                 plan_.frees.step_count()));
    }
    for (step_ = 0; step_ < plan_.steps.size(); ++step_) {
      CHECKMATE_TRY(run_step(plan_.steps[step_]));
      for (const TensorId tensor : plan_.frees.after(step_)) {
        CHECKMATE_TRY(free(tensor));
      }
    }
    return finish();
  }

 private:
  static Error failure(std::string message) { return {ErrorCode::kInvalidPlan, std::move(message)}; }
  std::string here(OpId op) const {
    return fmt::format("step {} (op {} {})", step_, op.value, in_quotes(graph_.name(op)));
  }
  std::string label(TensorId tensor) const {
    return fmt::format("tensor {} {}", tensor.value, in_quotes(graph_.name(tensor)));
  }
  bool live(TensorId tensor) const { return made_at_[tensor.index()] != kAbsent; }

  Result<void> run_step(OpId op) {
    if (op.index() >= graph_.op_count()) {
      return failure(fmt::format("step {} runs op {}, but the graph has ops 0 to {}", step_, op.value,
                                 graph_.op_count() - 1));
    }
    if (result_.run_counts[op.index()]++ > 0 && !graph_.recomputable(op)) {
      return failure(fmt::format("{} runs again, but is not recomputable", here(op)));
    }
    for (const TensorId tensor : graph_.inputs(op)) {
      if (graph_.resident(tensor) || live(tensor)) continue;
      return failure(fmt::format("{} reads {}, which is not in memory", here(op), label(tensor)));
    }
    for (const TensorId tensor : graph_.outputs(op)) {
      if (live(tensor))
        return failure(fmt::format("{} makes {}, which is still in memory", here(op), label(tensor)));
      made_at_[tensor.index()] = static_cast<std::uint32_t>(step_);
      live_ += graph_.bytes(tensor);
    }
    const Bytes memory = live_ + graph_.workspace(op);
    result_.memory.push_back(memory);
    if (step_ == 0 || memory > result_.peak) {
      result_.peak = memory;
      result_.peak_step = step_;
    }
    if (graph_.cost(op).count() > INT64_MAX - result_.cost.count()) {
      return failure(fmt::format("{}: the plan's cost exceeds 2^63", here(op)));
    }
    result_.cost += graph_.cost(op);
    return {};
  }

  Result<void> free(TensorId tensor) {
    if (tensor.index() >= graph_.tensor_count() || !live(tensor)) {
      const bool known = tensor.index() < graph_.tensor_count();
      return failure(fmt::format("after {}, {} is freed, which is not in memory", here(plan_.steps[step_]),
                                 known ? label(tensor) : fmt::format("unknown tensor {}", tensor.value)));
    }
    end_interval(tensor, step_);
    live_ -= graph_.bytes(tensor);
    return {};
  }

  void end_interval(TensorId tensor, std::size_t last) {
    result_.intervals.push_back({tensor, made_at_[tensor.index()], static_cast<std::uint32_t>(last)});
    made_at_[tensor.index()] = kAbsent;
  }

  Result<Simulation> finish() {
    for (const OpId op : graph_.ops()) {
      if (result_.run_counts[op.index()] > 0) continue;
      return failure(fmt::format("op {} {} never runs", op.value, in_quotes(graph_.name(op))));
    }
    for (const TensorId tensor : graph_.tensors()) {
      if (graph_.output(tensor) && !live(tensor)) {
        return failure(fmt::format("{} is an output, but is not in memory at the end", label(tensor)));
      }
    }
    for (const TensorId tensor : graph_.tensors()) {
      if (live(tensor)) end_interval(tensor, plan_.steps.size() - 1);
    }
    return std::move(result_);
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<std::uint32_t> made_at_;  // per tensor: the step of its latest run, kAbsent when not in memory
  Bytes live_ = graph_.fixed_bytes();
  std::size_t step_ = 0;
  Simulation result_{};
};

}  // namespace

Result<Simulation> simulate(const Graph& graph, const Plan& plan) {
  return guarded([&] { return Machine(graph, plan).run(); });
}

Bytes keep_all_peak(const Graph& graph) {
  return simulate(graph, keep_all_plan(graph))->peak - graph.fixed_bytes();
}

}  // namespace checkmate
