#include "checkmate/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace checkmate {
namespace {

using Step = std::uint64_t;

class Validator {
 public:
  Validator(const Graph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        runs_(Rows<Step>::by_row(graph.op_count(),
                                 [&](const auto& visit) {
                                   for (Step step = 0; step < plan.steps.size(); ++step) {
                                     if (known(plan.steps[step])) visit(plan.steps[step].index(), step);
                                   }
                                 })),
        frees_(Rows<Step>::by_row(
            graph.tensor_count(),
            [&](const auto& visit) {
              for (Step step = 0; step < std::min(plan.steps.size(), plan.frees.step_count()); ++step) {
                for (const TensorId tensor : plan.frees.after(step)) {
                  if (known(tensor)) visit(tensor.index(), step);
                }
              }
            })),
        growth_(plan.steps.size() + 1) {}

  std::vector<Violation> check(Bytes budget, Order order) {
    check_names();
    check_runs();
    if (order == Order::kFixed) check_order();
    for (const TensorId tensor : graph_.tensors()) follow(tensor);
    check_memory(budget);
    check_cost();
    return std::move(found_);
  }

 private:
  bool known(OpId op) const { return op.index() < graph_.op_count(); }
  bool known(TensorId tensor) const { return tensor.index() < graph_.tensor_count(); }
  void add(const Violation& violation) { found_.push_back(violation); }
  void add_at(ViolationKind kind, Step step, TensorId tensor) {
    add({.kind = kind, .step = step, .op = plan_.steps[step], .tensor = tensor});
  }

  void check_names() {
    if (plan_.frees.step_count() != plan_.steps.size()) add({.kind = ViolationKind::kFreesDoNotMatchSteps});
    for (Step step = 0; step < plan_.steps.size(); ++step) {
      const OpId op = plan_.steps[step];
      if (!known(op)) add({.kind = ViolationKind::kUnknownOp, .step = step, .op = op});
    }
    for (Step step = 0; step < plan_.frees.step_count(); ++step) {
      for (const TensorId tensor : plan_.frees.after(step)) {
        if (!known(tensor)) add({.kind = ViolationKind::kUnknownTensor, .step = step, .tensor = tensor});
      }
    }
  }

  void check_runs() {
    for (const OpId op : graph_.ops()) {
      const std::span<const Step> runs = runs_[op.index()];
      if (runs.empty()) add({.kind = ViolationKind::kNeverRuns, .op = op});
      for (std::size_t k = 1; k < runs.size() && !graph_.recomputable(op); ++k) {
        add({.kind = ViolationKind::kRunsAgain, .step = runs[k], .op = op});
      }
    }
  }

  void check_order() {
    Step latest = 0;
    for (const OpId op : graph_.ops()) {
      const std::span<const Step> runs = runs_[op.index()];
      if (runs.empty()) continue;
      if (runs[0] < latest) add({.kind = ViolationKind::kFirstRunOutOfOrder, .step = runs[0], .op = op});
      latest = std::max(latest, runs[0]);
    }
  }

  /// Stays of one tensor: run k begins one, the first free before run k+1 ends it.
  void follow(TensorId tensor) {
    const std::span<const Step> frees = frees_[tensor.index()];
    const std::optional<OpId> producer = graph_.producer(tensor);
    if (!producer) {
      for (const Step step : frees) add_at(ViolationKind::kFreedWhileAbsent, step, tensor);
      return;
    }
    const std::span<const Step> runs = runs_[producer->index()];
    const Step end = plan_.steps.size();
    std::vector<Step>& freed = freed_;  // per run, or `end` when the tensor is never freed
    freed.assign(runs.size(), end);
    for (const Step step : frees) {
      const auto later =
          static_cast<std::size_t>(std::upper_bound(runs.begin(), runs.end(), step) - runs.begin());
      if (later == 0 || freed[later - 1] != end) {
        add_at(ViolationKind::kFreedWhileAbsent, step, tensor);
      } else {
        freed[later - 1] = step;
      }
    }
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const bool last = k + 1 == runs.size();
      if (!last && freed[k] == end) {
        add_at(ViolationKind::kMadeWhileLive, runs[k + 1], tensor);
        freed[k] = runs[k + 1] - 1;
      }
      if (last && freed[k] != end && graph_.output(tensor))
        add_at(ViolationKind::kOutputNotKept, freed[k], tensor);
      growth_[runs[k]] += graph_.bytes(tensor).count();
      if (freed[k] != end) growth_[freed[k] + 1] -= graph_.bytes(tensor).count();
    }
    check_uses(tensor, runs, freed);
  }

  void check_uses(TensorId tensor, std::span<const Step> runs, std::span<const Step> freed) {
    for (const OpId user : graph_.users(tensor)) {
      for (const Step use : runs_[user.index()]) {
        const auto later =
            static_cast<std::size_t>(std::lower_bound(runs.begin(), runs.end(), use) - runs.begin());
        if (later == 0 || freed[later - 1] < use) add_at(ViolationKind::kInputMissing, use, tensor);
      }
    }
  }

  void check_memory(Bytes budget) {
    std::int64_t live = graph_.fixed_bytes().count();
    for (Step step = 0; step < plan_.steps.size(); ++step) {
      live += growth_[step];
      const OpId op = plan_.steps[step];
      const Bytes memory = Bytes{live} + (known(op) ? graph_.workspace(op) : Bytes{0});
      if (memory > budget)
        add({.kind = ViolationKind::kOverBudget, .step = step, .op = op, .memory = memory});
    }
  }

  void check_cost() {
    std::int64_t cost = 0;
    for (Step step = 0; step < plan_.steps.size(); ++step) {
      const OpId op = plan_.steps[step];
      if (!known(op) || !__builtin_add_overflow(cost, graph_.cost(op).count(), &cost)) continue;
      add({.kind = ViolationKind::kCostOverflow, .step = step, .op = op});
      return;
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  Rows<Step> runs_;                   // per op
  Rows<Step> frees_;                  // per tensor
  std::vector<std::int64_t> growth_;  // of the live bytes, on the way into each step
  std::vector<Step> freed_;
  std::vector<Violation> found_;
};

std::string_view sentence(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::kFreesDoNotMatchSteps:
      return "the plan must list the frees of every step";
    case ViolationKind::kUnknownOp:
      return "{step} runs an op that the graph does not have";
    case ViolationKind::kUnknownTensor:
      return "after {step}, {tensor} is freed, which the graph does not have";
    case ViolationKind::kNeverRuns:
      return "{op} never runs";
    case ViolationKind::kRunsAgain:
      return "{step} runs an op again, but it is not recomputable";
    case ViolationKind::kFirstRunOutOfOrder:
      return "{step} is a first run that comes before the first run of an earlier op";
    case ViolationKind::kInputMissing:
      return "{step} reads {tensor}, which is not in memory";
    case ViolationKind::kMadeWhileLive:
      return "{step} makes {tensor}, which is still in memory";
    case ViolationKind::kFreedWhileAbsent:
      return "after {step}, {tensor} is freed, which is not in memory";
    case ViolationKind::kOutputNotKept:
      return "after {step}, {tensor} is freed, but it is an output";
    case ViolationKind::kOverBudget:
      return "{step} needs {memory} bytes, over the budget";
    case ViolationKind::kCostOverflow:
      return "by {step} the plan costs 2^63 or more";
  }
  throw std::logic_error("every kind of violation has a sentence");
}

}  // namespace

std::vector<Violation> validate(const Graph& graph, const Plan& plan, Bytes budget, Order order) {
  return Validator(graph, plan).check(budget, order);
}

std::string describe(const Graph& graph, const Violation& violation) {
  const auto named = [&](std::string_view kind, auto id, std::size_t count) {
    return id.index() < count ? fmt::format("{} {} {}", kind, id.value, in_quotes(graph.name(id)))
                              : fmt::format("{} {}", kind, id.value);
  };
  const std::string op = violation.op ? named("op", *violation.op, graph.op_count()) : "";
  const std::string tensor = violation.tensor ? named("tensor", *violation.tensor, graph.tensor_count()) : "";
  std::string step = violation.step ? fmt::format("step {}", *violation.step) : "";
  if (violation.step && violation.op) step += fmt::format(" ({})", op);
  return fmt::format(fmt::runtime(sentence(violation.kind)), fmt::arg("step", step), fmt::arg("op", op),
                     fmt::arg("tensor", tensor), fmt::arg("memory", violation.memory.count()));
}

}  // namespace checkmate
