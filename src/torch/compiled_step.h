#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "checkmate/torch_step.h"
#include "torch/capture.h"
#include "torch/planning.h"

namespace checkmate::torch {

/// A planned step for one shape of batch and state of the model.
class CompiledStep {
 public:
  /// Captures, measures, and plans. A `budget` in bytes takes the place of the options'. The search starts
  /// from the plan of a `similar` step, such as one for another length of the sequence; null: there is none.
  static Result<CompiledStep> build(const std::string& name, const Situation& situation,
                                    const LossFunction& loss_fn, const Options& options,
                                    std::optional<Bytes> budget, const CompiledStep* similar);

  /// The loss and what was returned after it. Leaves gradients in the parameters and updates buffers.
  Result<std::vector<at::Tensor>> run(const Situation& situation);

  /// The same step without recomputation.
  Result<CompiledStep> without_recomputation() const;

  const Graph& graph() const { return planned_->graph; }
  const PlanRecord& record() const { return planned_->record; }
  const Timings& timings() const { return timings_; }
  const Program& program() const { return *program_; }
  /// What the step's allocations take in addition to fixed memory; nothing before it is known.
  std::optional<std::int64_t> allocated() const;

 private:
  CompiledStep(std::shared_ptr<const Program> program, std::vector<UnitCost> costs, PlannedStep planned,
               std::optional<std::int64_t> room);

  std::vector<at::Tensor> inputs_of(const Situation& situation) const;
  Result<std::vector<at::Tensor>> record_run(std::vector<at::Tensor> inputs);

  std::shared_ptr<const Program> program_;
  std::vector<UnitCost> costs_;
  std::shared_ptr<const PlannedStep> planned_;
  Schedule schedule_;
  std::shared_ptr<const runtime::Executor> executor_;
  std::map<int, StepLayout> layouts_;  // by the number of threads
  std::optional<std::int64_t> room_;   // bytes that the budget leaves for allocations
  int recordings_ = 0;
  Timings timings_;
};

/// All that the runtime and the kernels throw, as an error.
Error error_of_run();

}  // namespace checkmate::torch
