#include <fmt/format.h>

#include <list>
#include <ostream>

#include "checkmate/file.h"
#include "checkmate/io.h"
#include "checkmate/report.h"
#include "checkmate/runtime.h"
#include "core/try.h"
#include "torch/agreement.h"
#include "torch/compiled_step.h"
#include "torch/guard.h"
#include "torch/step_state.h"

namespace checkmate::torch {

Result<Situation> Step::State::situation(const std::vector<at::Tensor>& batch) const {
  Situation now{model.parameters(), model.buffers(), batch};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!batch[i].defined()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("tensor {} of the batch is undefined", i)};
    }
  }
  return now;
}

Result<CompiledStep*> Step::State::prepared(const Situation& now) {
  const Guard guard = Guard::of(now, model.training());
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (step->first == guard) {
      steps.splice(steps.begin(), steps, step);
      return &steps.front().second;
    }
  }
  // A share becomes bytes once, from the first batch: a smaller one has as much. Gradients to add to come on
  // top.
  std::optional<Bytes>& budget = budgets[guard.accumulates() ? 1 : 0];
  CHECKMATE_TRY(CompiledStep step, CompiledStep::build(model.name, now, loss_fn, options, budget,
                                                       steps.empty() ? nullptr : &steps.front().second));
  if (!options.budget.empty()) {
    budget = step.record().budget;
  }
  steps.emplace_front(guard, std::move(step));
  if (steps.size() > kMostRemembered) {
    steps.pop_back();
  }
  return &steps.front().second;
}

Result<Step> Step::compile(Model model, LossFunction loss_fn, const std::vector<at::Tensor>& example,
                           Options options) {
  auto state = std::make_unique<State>(std::move(model), std::move(loss_fn), std::move(options));
  Step step(std::move(state));
  CHECKMATE_TRY(step.prepare(example));
  return step;
}

Step::Step(std::unique_ptr<State> state) : state_(std::move(state)) {}
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

Result<void> Step::prepare(const std::vector<at::Tensor>& batch) {
  CHECKMATE_TRY(const Situation now, state_->situation(batch));
  CHECKMATE_TRY(state_->prepared(now));
  return {};
}

Result<at::Tensor> Step::run(const std::vector<at::Tensor>& batch) {
  CHECKMATE_TRY(const Situation now, state_->situation(batch));
  CHECKMATE_TRY(CompiledStep* const step, state_->prepared(now));
  CHECKMATE_TRY(std::vector<at::Tensor> losses, step->run(now));
  CHECKMATE_TRY(average_gradients(state_->options.processes, now));
  at::Tensor loss = std::move(losses.front());
  losses.erase(losses.begin());
  state_->extras = std::move(losses);
  return loss;
}

const std::vector<at::Tensor>& Step::extras() const { return state_->extras; }

StepPlan Step::plan() const {
  const CompiledStep& step = state_->latest();
  const PlanRecord& record = step.record();
  return {.graph = step.graph(),
          .plan = record.plan,
          .budget = record.budget.value_or(*record.peak),
          .cost = *record.cost,
          .peak = *record.peak,
          .lower_bound = record.lower_bound.value_or(step.graph().keep_all_cost()),
          .order = record.order,
          .method = record.method,
          .seed = record.seed,
          .arena = step.graph().fixed_bytes() + Bytes{step.allocated().value_or(0)}};
}

Timings Step::timings() const { return state_->latest().timings(); }

Result<void> Step::report(const std::filesystem::path& path) const {
  const StepPlan shown = plan();
  ReportOptions options{
      .budget = shown.budget, .order = shown.order, .method = shown.method, .lower_bound = shown.lower_bound};
  if (state_->latest().allocated()) {
    options.arena = shown.arena;
  }
  CHECKMATE_TRY(const std::string page, report_html(shown.graph, shown.plan, options));
  return write_file(path, page);
}

Result<void> Step::save_plan(const std::filesystem::path& path) const {
  return write_file(path, plan_to_json(state_->latest().record()));
}

Result<void> Step::save_graph(const std::filesystem::path& path) const {
  return write_file(path, graph_to_json(state_->latest().graph()));
}

void Step::release() { runtime::release_memory(); }

std::string to_string(const StepPlan& plan) {
  return fmt::format("peak {} of {}, overhead {:.4f}x, at most {:.2f}% from the best possible",
                     to_string(plan.peak), to_string(plan.budget), plan.overhead(), 100 * plan.gap());
}

std::ostream& operator<<(std::ostream& out, const StepPlan& plan) { return out << to_string(plan); }

}  // namespace checkmate::torch
