#include "torch/compiled_step.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <malloc.h>

#include "checkmate/budget.h"
#include "checkmate/simulate.h"
#include "core/guarded.h"
#include "core/try.h"
#include "torch/agreement.h"
#include "torch/memory.h"

namespace checkmate::torch {
namespace {

constexpr int kMostRecordings = 3;
constexpr int kMostCaptures = 64;  // each corrects the layout of another op

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> taken = now - std::exchange(last_, now);
    return taken.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<at::Tensor> step_inputs(const Captured& captured, const Situation& situation) {
  std::vector<at::Tensor> inputs = tensors_of(situation);
  inputs.insert(inputs.end(), captured.constants.begin(), captured.constants.end());
  for (const std::size_t parameter : captured.accumulated) {
    inputs.push_back(situation.parameters[parameter].tensor.grad());
  }
  return inputs;
}

/// Keep-all, if there is memory for it; otherwise a plan within the budget, from estimated costs.
Result<Plan> rehearsal_of(const Program& program, const Options& options, std::optional<Bytes> budget,
                          Bytes reserved) {
  CHECKMATE_TRY(const Graph graph,
                planning_graph(program, estimated_costs(program), "", "flop", options.order, reserved));
  Plan plan = keep_all_plan(graph);
  if (options.budget.empty() || keep_all_peak(graph).count() <= available_bytes()) {
    return plan;
  }
  if (!budget) {
    CHECKMATE_TRY(budget, parse_budget(graph, options.budget));
  }
  Options search = options;
  search.plan.clear();
  CHECKMATE_TRY(PlanRecord record, solved(graph, budget, search, {}));
  return std::move(record.plan);
}

struct Costed {
  std::shared_ptr<const Program> program;
  std::vector<UnitCost> costs;
  Timings timings;
};

/// Measured, or estimated, as the options say.
Result<Measurement> costs_of(const std::shared_ptr<const Program>& program,
                             const std::vector<at::Tensor>& inputs, const Plan& rehearsal,
                             const Options& options) {
  try {
    if (options.measure) {
      return measured_costs(program, inputs, rehearsal, Cache(options.cache));
    }
    CHECKMATE_TRY(KnownLayouts corrections, checked_layouts(program, inputs, rehearsal));
    return Measurement{.costs = estimated_costs(*program), .corrections = std::move(corrections)};
  } catch (...) {
    return error_of_run();
  }
}

/// Captures until every op lays out its results as the capture says, which measuring finds out.
Result<Costed> captured_and_costed(const Situation& situation, const LossFunction& loss_fn,
                                   const Options& options, std::optional<Bytes> budget, Bytes reserved) {
  KnownLayouts known;
  Costed found;
  for (int attempt = 0; attempt < kMostCaptures; ++attempt) {
    Clock clock;
    CHECKMATE_TRY(Captured captured, capture(situation, loss_fn, known));
    found.program =
        std::make_shared<const Program>(lower(std::make_shared<const Captured>(std::move(captured))));
    found.timings.capture += clock.lap();
    CHECKMATE_TRY(const Plan rehearsal, rehearsal_of(*found.program, options, budget, reserved));
    const std::vector<at::Tensor> inputs = step_inputs(*found.program->captured, situation);
    CHECKMATE_TRY(Measurement measured, costs_of(found.program, inputs, rehearsal, options));
    found.timings.costs += clock.lap();
    if (measured.corrections.empty()) {
      found.costs = std::move(measured.costs);
      return found;
    }
    known.insert(measured.corrections.begin(), measured.corrections.end());
  }
  return Error{
      ErrorCode::kInternal,
      fmt::format("after {} captures, ops still lay out results otherwise than expected", kMostCaptures)};
}

/// The first process searches, the others take its plan: one cut short by time differs from run to run.
Result<PlannedStep> planned_for_all(const Program& program, const std::vector<UnitCost>& costs,
                                    const Graph& graph, std::optional<Bytes> budget, const Options& options,
                                    const std::vector<OpId>& start) {
  const Processes& processes = options.processes;
  if (processes.size == 1) {
    return planned(program, costs, graph, budget, options, start);
  }
  Result<PlannedStep> own = processes.rank == 0
                                ? planned(program, costs, graph, budget, options, start)
                                : Result<PlannedStep>(Error{ErrorCode::kInternal, "not searched"});
  const std::string told = text_of_first(processes, !own ? own.error().message : plan_to_json(own->record));
  if (processes.rank == 0) {
    return own;
  }
  Result<PlanRecord> record = parse_plan(told, graph);
  if (!record) {
    return Error{ErrorCode::kInvalidArgument, told};
  }
  PlannedStep taken{graph, *std::move(record)};
  if (costs[0].allocations) {
    std::vector<UnitAllocations> allocations;
    allocations.reserve(costs.size());
    for (const UnitCost& cost : costs) {
      allocations.push_back(*cost.allocations);
    }
    LayoutLimits limits;
    if (budget) {
      limits.room = (*budget - graph.fixed_bytes()).count();
    }
    CHECKMATE_TRY(taken.layout, planned_layout(program, allocations, taken.record.plan, limits));
  }
  return taken;
}

}  // namespace

Error error_of_run() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return {ErrorCode::kTooLarge, error.what_without_backtrace()};
  } catch (const c10::Error& error) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("the captured step fails when it runs: {}", error.what_without_backtrace())};
  } catch (...) {
    return error_of_exception();
  }
}

CompiledStep::CompiledStep(std::shared_ptr<const Program> program, std::vector<UnitCost> costs,
                           PlannedStep planned, std::optional<std::int64_t> room)
    : program_(std::move(program)),
      costs_(std::move(costs)),
      planned_(std::make_shared<const PlannedStep>(std::move(planned))),
      schedule_(schedule(program_, planned_->record.plan.steps, planned_->record.plan.frees,
                         results_of(*program_->captured))),
      executor_(std::make_shared<const runtime::Executor>(schedule_.steps)),
      room_(room) {
  if (planned_->layout) {
    layouts_.emplace(at::get_num_threads(), *planned_->layout);
  }
}

Result<CompiledStep> CompiledStep::build(const std::string& name, const Situation& situation,
                                         const LossFunction& loss_fn, const Options& options,
                                         std::optional<Bytes> budget, const CompiledStep* similar) {
  CHECKMATE_TRY(const Bytes reserved, parse_bytes(options.reserve));
  const Processes& processes = options.processes;
  Result<Costed> own = captured_and_costed(situation, loss_fn, options, budget, reserved);
  CHECKMATE_TRY(agree(processes, own ? Result<std::string>(fingerprint(*own->program)) : own.error()));
  Costed costed = *std::move(own);
  if (processes.size > 1) {  // costs are measured, and differ: those of the first process count
    costed.costs = costs_from_json(text_of_first(processes, costs_to_json(costed.costs)), *costed.program)
                       .value_or(std::move(costed.costs));
  }
  Clock clock;
  CHECKMATE_TRY(Graph graph, planning_graph(*costed.program, costed.costs, name,
                                            options.measure ? "ns" : "flop", options.order, reserved));
  if (!budget && !options.budget.empty()) {
    CHECKMATE_TRY(budget, parse_budget(graph, options.budget));
  }
  std::optional<std::int64_t> room;
  if (budget) {
    room = (*budget - graph.fixed_bytes()).count();
  }
  const std::vector<OpId> start = similar != nullptr ? similar->record().plan.steps : std::vector<OpId>();
  CHECKMATE_TRY(PlannedStep planned_step,
                planned_for_all(*costed.program, costed.costs, graph, budget, options, start));
  CompiledStep step(std::move(costed.program), std::move(costed.costs), std::move(planned_step), room);
  step.timings_ = costed.timings;
  step.timings_.solve = clock.lap();
  malloc_trim(0);  // measuring and searching took more than the step will
  return step;
}

std::vector<at::Tensor> CompiledStep::inputs_of(const Situation& situation) const {
  // Gradients to add to leave the arena of the step that made them, which this one needs whole.
  for (const std::size_t parameter : program_->captured->accumulated) {
    at::Tensor& gradient = situation.parameters[parameter].tensor.mutable_grad();
    if (runtime::in_arena(gradient)) {
      gradient = gradient.clone();
    }
  }
  return step_inputs(*program_->captured, situation);
}

Result<std::vector<at::Tensor>> CompiledStep::record_run(std::vector<at::Tensor> inputs) {
  runtime::AllocationLog log;
  std::vector<at::Tensor> results = executor_->run(std::move(inputs), {.log = &log});
  ++recordings_;
  CHECKMATE_TRY(StepLayout layout, recorded_layout(schedule_, log, {.room = room_}));
  layouts_.insert_or_assign(at::get_num_threads(), std::move(layout));
  return results;
}

Result<std::vector<at::Tensor>> CompiledStep::run(const Situation& situation) {
  const at::NoGradGuard no_history;
  const Captured& captured = *program_->captured;
  std::vector<at::Tensor> results;
  try {
    std::vector<at::Tensor> inputs = inputs_of(situation);
    const auto layout = layouts_.find(at::get_num_threads());
    if (layout == layouts_.end()) {
      CHECKMATE_TRY(results, record_run(std::move(inputs)));
    } else {
      runtime::AllocationCounts counts;
      results =
          executor_->run(std::move(inputs), {.addresses = &layout->second.addresses, .counts = &counts});
      if (counts.unexpected > 0 && recordings_ < kMostRecordings) {
        layouts_.erase(layout);  // the next step records anew
      }
    }
  } catch (...) {
    return error_of_run();
  }
  std::size_t next = captured.losses.size();
  for (const Update& gradient : captured.gradients) {
    situation.parameters[gradient.input].tensor.mutable_grad() = std::move(results[next++]);
  }
  for (const Update& update : captured.updates) {
    const std::size_t buffer = update.input - situation.parameters.size();
    const at::Tensor& target = update.input < situation.parameters.size()
                                   ? situation.parameters[update.input].tensor
                                   : situation.buffers[buffer].tensor;
    target.copy_(results[next++]);
  }
  results.resize(captured.losses.size());
  return results;
}

Result<CompiledStep> CompiledStep::without_recomputation() const {
  Options options;
  CHECKMATE_TRY(PlannedStep planned_step, planned(*program_, costs_, graph(), std::nullopt, options, {}));
  return CompiledStep(program_, costs_, std::move(planned_step), std::nullopt);
}

std::optional<std::int64_t> CompiledStep::allocated() const {
  const auto layout = layouts_.find(at::get_num_threads());
  return layout == layouts_.end() ? std::nullopt : std::optional(layout->second.total());
}

}  // namespace checkmate::torch
