#include "torch/schedule.h"

#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <map>

namespace checkmate::torch {
namespace {

/// Another tensor over the same storage.
runtime::Kernel view_kernel(Layout layout) {
  return runtime::Kernel::function(
      [layout = std::move(layout)](Stack& stack) {
        const at::Tensor base = stack[0].toTensor();
        at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
            c10::Storage(base.storage()), base.key_set(), c10::scalarTypeToTypeMeta(layout.type));
        view.unsafeGetTensorImpl()->set_sizes_and_strides(layout.sizes, layout.strides, layout.offset);
        stack[0] = std::move(view);
      },
      true);
}

class Scheduler {
 public:
  Scheduler(std::shared_ptr<const Program> program, std::span<const OpId> steps)
      : program_(*program), captured_(*program->captured), alive_(program->blocks.size()) {
    result_.program = std::move(program);
    result_.steps.slot_count = captured_.values.size();
    made_.assign(captured_.values.size(), false);
    runs_.assign(program_.units.size(), 0);
    for (const OpId step : steps) {
      ++runs_[step.value];
    }
    for (const ValueId input : captured_.inputs) {
      result_.steps.inputs.push_back(input);
      make(input);
    }
  }

  void add(UnitId id, std::span<const TensorId> freed) {
    const Unit& unit = program_.units[id];
    runtime::Run run{.effect = unit.effect};
    if (unit.random && runs_[id] > 1) {
      const auto next = static_cast<std::uint32_t>(states_.size());
      const auto [state, first] = states_.emplace(id, next);
      run.randomness = first ? runtime::Randomness::kRemember : runtime::Randomness::kRepeat;
      run.random_state = state->second;
    }
    for (const UnitCall& call : unit.calls) {
      invoke(call, run);
    }
    for (const TensorId tensor : freed) {
      if (tensor.index() >= alive_.size()) {
        continue;  // it only keeps units in order
      }
      for (const ValueId value : alive_[tensor.index()]) {
        run.drops.push_back(value);
        made_[value] = false;
      }
      alive_[tensor.index()].clear();
    }
    result_.units.push_back(id);
    result_.steps.runs.push_back(std::move(run));
  }

  Schedule finish(const std::vector<ValueId>& results) {
    runtime::Run views;
    for (const ValueId result : results) {
      need(result, views);
    }
    result_.steps.runs.push_back(std::move(views));
    result_.steps.results = results;
    result_.steps.random_state_count = states_.size();
    return std::move(result_);
  }

 private:
  void make(ValueId value) {
    if (!made_[value]) {
      made_[value] = true;
      alive_[program_.block(value)].push_back(value);
    }
  }

  /// Views are made next to who reads them first.
  void need(ValueId value, runtime::Run& run) {
    if (made_[value]) {
      return;
    }
    const ValueId base = alive_[program_.block(value)].at(0);
    run.calls.push_back({.kernel = view_kernel(captured_.values[value].layout),
                         .arguments = Stack(1),
                         .tensors = {{0, base}},
                         .results = {{0, std::nullopt, value}}});
    make(value);
  }

  void invoke(const UnitCall& call, runtime::Run& run) {
    const Node& node = program_.node(call);
    for (const Input& input : node.inputs) {
      need(input.value, run);
    }
    runtime::Call made{
        .kernel = runtime::Kernel::op(call.op.schema().name(), call.op.schema().overload_name()),
        .arguments = node.arguments};
    std::map<std::uint32_t, runtime::ListArgument> lists;
    for (const Input& input : node.inputs) {
      if (!input.element) {
        made.tensors.push_back({input.position, input.value});
        continue;
      }
      const c10::IValue& list = node.arguments[input.position];
      auto& argument = lists[input.position];
      argument.position = input.position;
      argument.optional_elements = list.isOptionalTensorList();
      argument.slots.resize(list.toListRef().size());
      argument.slots[*input.element] = input.value;
    }
    for (auto& [position, list] : lists) {
      made.lists.push_back(std::move(list));
    }
    if (call.written.value_or(0) != 0) {
      write_first(made, *call.written);
    }
    for (const Output& output : node.outputs) {
      made.results.push_back({output.position, output.element, output.value});
    }
    run.calls.push_back(std::move(made));
    for (const Output& output : node.outputs) {
      make(output.value);
    }
  }

  /// What is written over comes first.
  static void write_first(runtime::Call& call, std::uint32_t written) {
    std::swap(call.arguments[0], call.arguments[written]);
    for (runtime::TensorArgument& argument : call.tensors) {
      argument.position = argument.position == 0         ? written
                          : argument.position == written ? 0
                                                         : argument.position;
    }
  }

  const Program& program_;
  const Captured& captured_;
  Schedule result_;
  std::vector<bool> made_;
  std::vector<std::vector<ValueId>> alive_;  // the values of each block
  std::vector<int> runs_;
  std::map<UnitId, std::uint32_t> states_;
};

}  // namespace

Schedule schedule(std::shared_ptr<const Program> program, std::span<const OpId> steps, const Frees& frees,
                  const std::vector<ValueId>& results) {
  Scheduler scheduler(std::move(program), steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    scheduler.add(steps[i].value, frees.after(i));
  }
  return scheduler.finish(results);
}

}  // namespace checkmate::torch
