#include <ATen/Functions.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <chrono>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "arguments.h"
#include "checkmate/runtime.h"

namespace nb = nanobind;

namespace checkmate::python {
namespace {

using namespace runtime;

at::Tensor tensor_of(nb::handle object) {
  if (!THPVariable_Check(object.ptr())) {
    throw nb::type_error("a tensor is needed");
  }
  return THPVariable_Unpack(object.ptr());
}

nb::object wrapped(at::Tensor tensor) { return nb::steal(THPVariable_Wrap(std::move(tensor))); }

std::vector<at::Tensor> tensors_of(const nb::list& objects) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(objects.size());
  for (const nb::handle object : objects) {
    tensors.push_back(tensor_of(object));
  }
  return tensors;
}

nb::list wrapped(std::vector<at::Tensor> tensors) {
  nb::list objects;
  for (at::Tensor& tensor : tensors) {
    objects.append(wrapped(std::move(tensor)));
  }
  return objects;
}

/// A Python function of tensors that returns a tensor, several, or nothing. Freed with the lock held.
Kernel python_kernel(nb::callable function, bool planned) {
  const std::shared_ptr<nb::object> held(new nb::object(std::move(function)), [](nb::object* object) {
    const nb::gil_scoped_acquire lock;
    delete object;
  });
  return Kernel::function(
      [held](Stack& stack) {
        const nb::gil_scoped_acquire lock;
        nb::list arguments;
        for (c10::IValue& value : stack) {
          arguments.append(wrapped(std::move(value).toTensor()));
        }
        stack.clear();
        const nb::object result = (*held)(*arguments);
        if (THPVariable_Check(result.ptr())) {
          stack.emplace_back(tensor_of(result));
        } else if (!result.is_none()) {
          for (const nb::handle element : result) {
            stack.emplace_back(element.is_none() ? at::Tensor() : tensor_of(element));
          }
        }
      },
      planned);
}

using Layout = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, std::string>;

/// Such as "float32".
c10::ScalarType type_named(const std::string& name) {
  const auto& types = c10::getStringToDtypeMap();
  const auto found = types.find(name);
  if (found == types.end()) {
    throw nb::value_error(("there is no type " + name).c_str());
  }
  return found->second;
}

TensorLayout layout_of(const Layout& layout) {
  const auto& [sizes, strides, type] = layout;
  return {sizes, strides, type_named(type)};
}

/// Memory with a layout is taken, a function gets pointers, or memory is freed.
using Action =
    std::tuple<std::vector<std::pair<std::uint32_t, std::int64_t>>, std::optional<Layout>, std::uintptr_t>;

CompiledKernel::Action action_of(const Action& action) {
  const auto& [places, layout, function] = action;
  if (function != 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): Python knows addresses as numbers
    CompiledKernel::Launch launch{reinterpret_cast<CompiledKernel::Function>(function), {}};
    for (const auto& [operand, element] : places) {
      launch.pointers.push_back({operand, element});
    }
    return launch;
  }
  const std::uint32_t operand = places.at(0).first;
  if (layout) {
    return CompiledKernel::Allocate{operand, layout_of(*layout)};
  }
  return CompiledKernel::Free{operand};
}

using Result = std::tuple<std::uint32_t, std::optional<std::uint32_t>, Slot>;

std::vector<CallResult> results_of(const std::vector<Result>& results) {
  std::vector<CallResult> found;
  found.reserve(results.size());
  for (const auto& [position, element, slot] : results) {
    found.push_back({position, element, slot});
  }
  return found;
}

/// Lets Ctrl-C through, some times a second.
class Poll {
 public:
  void operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      return;
    }
    next_ = now + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
  }

 private:
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

/// A step in parts.
class PausedStep {
 public:
  PausedStep(std::shared_ptr<const Executor> executor, std::shared_ptr<const Addresses> addresses,
             std::vector<at::Tensor> inputs)
      : executor_(std::move(executor)),
        addresses_(std::move(addresses)),
        counts_(std::make_shared<AllocationCounts>()),
        run_(*executor_, std::move(inputs),
             {.addresses = addresses_.get(), .counts = counts_.get(), .poll = Poll()}) {}

  /// Runs to the next pause, or to the end, and returns what is shown there.
  nb::list advance() {
    {
      const nb::gil_scoped_release unlocked;
      run_.advance();
    }
    return wrapped(run_.shown());
  }

  /// Takes the tensors out of the list.
  nb::list resume(nb::list& awaited) {
    run_.put(tensors_of(awaited));
    awaited.clear();
    return advance();
  }

  PausedStep copy() const { return {*this, run_.copy()}; }

  /// Allocations that should have been at planned addresses, and were not.
  std::size_t unplanned() const { return counts_->unexpected + counts_->occupied; }

 private:
  PausedStep(const PausedStep& other, StepRun run)
      : executor_(other.executor_),
        addresses_(other.addresses_),
        counts_(other.counts_),
        run_(std::move(run)) {}

  std::shared_ptr<const Executor> executor_;
  std::shared_ptr<const Addresses> addresses_;
  std::shared_ptr<AllocationCounts> counts_;
  StepRun run_;
};

/// A program that Python puts together run by run, and then runs.
class Step {
 public:
  explicit Step(std::vector<Slot> inputs) { program_.inputs = std::move(inputs); }

  void begin_run() { program_.runs.emplace_back(); }

  void call_op(const std::string& name, const std::string& overload, const nb::tuple& positional,
               const nb::dict& named, const std::vector<Result>& results) {
    Call call{.kernel = Kernel::op(name, overload), .results = results_of(results)};
    fill_arguments(call, *call.kernel.schema(), positional, named);
    program_.runs.back().calls.push_back(std::move(call));
  }

  void call_python(nb::callable function, bool planned, const std::vector<Slot>& slots,
                   const std::vector<Result>& results) {
    call_kernel(python_kernel(std::move(function), planned), slots, results);
  }

  void call_compiled(const std::vector<Layout>& arguments, std::size_t operand_count,
                     const std::vector<Action>& actions,
                     const std::vector<std::pair<std::uint32_t, Layout>>& returned,
                     const std::vector<Slot>& slots, const std::vector<Result>& results) {
    CompiledKernel kernel{.operand_count = operand_count};
    for (const Layout& argument : arguments) {
      kernel.arguments.push_back(layout_of(argument));
    }
    for (const Action& action : actions) {
      kernel.actions.push_back(action_of(action));
    }
    for (const auto& [operand, layout] : returned) {
      kernel.results.push_back({operand, layout_of(layout)});
    }
    call_kernel(Kernel::compiled(std::move(kernel)), slots, results);
  }

  void end_run(std::vector<Slot> drops, bool effect, std::optional<std::uint32_t> remember,
               std::optional<std::uint32_t> repeat) {
    Run& run = program_.runs.back();
    run.drops = std::move(drops);
    run.effect = effect;
    if (remember || repeat) {
      run.randomness = remember ? Randomness::kRemember : Randomness::kRepeat;
      run.random_state = remember ? *remember : *repeat;
    }
  }

  /// The run that was begun last waits for its caller.
  void pause(std::vector<Slot> shown, std::vector<Slot> awaited) {
    program_.runs.back().pause = Pause{.shown = std::move(shown), .awaited = std::move(awaited)};
  }

  void finish(std::vector<Slot> results, std::size_t slot_count, std::size_t random_state_count) {
    program_.results = std::move(results);
    program_.slot_count = slot_count;
    program_.random_state_count = random_state_count;
    executor_ = std::make_shared<Executor>(std::move(program_));
  }

  void place(const std::vector<std::vector<std::pair<std::size_t, std::int64_t>>>& allocations,
             std::size_t size) {
    auto addresses = std::make_shared<Addresses>();
    addresses->size = size;
    for (const auto& of_run : allocations) {
      for (const auto& [bytes, offset] : of_run) {
        addresses->of_run.push_item(
            {bytes, offset < 0 ? PlannedAllocation::kOutside : static_cast<std::size_t>(offset)});
      }
      addresses->of_run.end_row();
    }
    if (addresses->of_run.size() != executor_->program().runs.size()) {
      throw nb::value_error("one list of allocations per run is needed");
    }
    addresses_ = std::move(addresses);
  }

  using Counts = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

  /// At planned addresses.
  std::pair<nb::list, Counts> run(const nb::list& inputs, const nb::list& parameters,
                                  const nb::list& written) const {
    const std::shared_ptr<const Addresses> addresses = addresses_;
    AllocationCounts counts;
    nb::list returned = run_with({.addresses = addresses.get(), .counts = &counts, .poll = Poll()}, inputs,
                                 parameters, written);
    return {returned, {counts.placed, counts.outside, counts.unexpected, counts.occupied}};
  }

  /// At planned addresses, if there are any: runs nothing yet.
  PausedStep start(const nb::list& inputs) const { return {executor_, addresses_, tensors_of(inputs)}; }

  /// At planned addresses, if there are any: the nanoseconds that each run took. Nothing is handed out.
  std::vector<std::int64_t> time(const nb::list& inputs) const {
    const std::shared_ptr<const Addresses> addresses = addresses_;
    std::vector<std::chrono::nanoseconds> times;
    run_with({.addresses = addresses.get(), .poll = Poll(), .times = &times}, inputs, nb::list(), nb::list());
    std::vector<std::int64_t> counts;
    counts.reserve(times.size());
    for (const std::chrono::nanoseconds each : times) {
      counts.push_back(each.count());
    }
    return counts;
  }

  using Events = std::vector<std::pair<std::uint32_t, std::int64_t>>;
  using Spans = std::vector<std::pair<std::size_t, std::size_t>>;
  using Values = std::vector<std::tuple<std::uint32_t, Slot, std::uint32_t>>;

  /// To see what it allocates.
  std::tuple<nb::list, Events, Spans, Values> record(const nb::list& inputs, const nb::list& parameters,
                                                     const nb::list& written) const {
    AllocationLog log;
    nb::list returned = run_with({.log = &log, .poll = Poll()}, inputs, parameters, written);
    Events events;
    for (const auto& [allocation, bytes] : log.events) {
      events.emplace_back(allocation, bytes);
    }
    Spans spans;
    for (const auto& [begin, end] : log.runs) {
      spans.emplace_back(begin, end);
    }
    Values values;
    for (const auto& [run, slot, allocation] : log.values) {
      values.emplace_back(run, slot, allocation);
    }
    return {returned, std::move(events), std::move(spans), std::move(values)};
  }

 private:
  void call_kernel(Kernel kernel, const std::vector<Slot>& slots, const std::vector<Result>& results) {
    Call call{.kernel = std::move(kernel), .arguments = Stack(slots.size()), .results = results_of(results)};
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
      call.tensors.push_back({i, slots[i]});
    }
    program_.runs.back().calls.push_back(std::move(call));
  }

  /// Hands out what the step made, so that no signal comes between: the first results are returned, the next
  /// become gradients, the last are copied into buffers.
  nb::list run_with(const Executor::Options& options, const nb::list& inputs, const nb::list& parameters,
                    const nb::list& written) const {
    std::vector<at::Tensor> given = tensors_of(inputs);
    std::vector<at::Tensor> with_gradient = tensors_of(parameters);
    std::vector<at::Tensor> buffers = tensors_of(written);
    std::vector<at::Tensor> results;
    {
      const nb::gil_scoped_release unlocked;
      results = executor_->run(std::move(given), options);
      const at::NoGradGuard no_history;
      const std::size_t first = results.size() - with_gradient.size() - buffers.size();
      for (std::size_t i = 0; i < with_gradient.size(); ++i) {
        with_gradient[i].mutable_grad() = std::move(results[first + i]);
      }
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        buffers[i].copy_(results[first + with_gradient.size() + i]);
      }
      results.resize(first);
    }
    return wrapped(std::move(results));
  }

  StepProgram program_;
  std::shared_ptr<const Executor> executor_;
  std::shared_ptr<const Addresses> addresses_;
};

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const c10::Error&) {
    torch::translate_exception_to_python(pointer);
  }
}

}  // namespace
}  // namespace checkmate::python

NB_MODULE(CHECKMATE_RUNTIME_MODULE, module) {
  using namespace checkmate::python;
  module.doc() = "Runs planned steps in C++, for one version of torch. Use checkmate.compile().";
  nb::register_exception_translator(translate);
  nb::set_leak_warnings(false);  // what torch has compiled holds its steps until the process ends
  nb::class_<SlotReference>(module, "Slot").def(nb::init<checkmate::runtime::Slot>(), nb::arg("slot"));
  nb::class_<PausedStep>(module, "PausedStep")
      .def("advance", &PausedStep::advance)
      .def("resume", &PausedStep::resume, nb::arg("awaited"))
      .def("copy", &PausedStep::copy)
      .def_prop_ro("unplanned", &PausedStep::unplanned);
  nb::class_<Step>(module, "Step")
      .def(nb::init<std::vector<checkmate::runtime::Slot>>(), nb::arg("inputs"))
      .def("begin_run", &Step::begin_run)
      .def("call_op", &Step::call_op, nb::arg("name"), nb::arg("overload"), nb::arg("positional"),
           nb::arg("named"), nb::arg("results"))
      .def("call_python", &Step::call_python, nb::arg("function"), nb::arg("planned"), nb::arg("slots"),
           nb::arg("results"))
      .def("call_compiled", &Step::call_compiled, nb::arg("arguments"), nb::arg("operand_count"),
           nb::arg("actions"), nb::arg("returned"), nb::arg("slots"), nb::arg("results"))
      .def("end_run", &Step::end_run, nb::arg("drops"), nb::arg("effect"), nb::arg("remember").none(),
           nb::arg("repeat").none())
      .def("pause", &Step::pause, nb::arg("shown"), nb::arg("awaited"))
      .def("start", &Step::start, nb::arg("inputs"))
      .def("finish", &Step::finish, nb::arg("results"), nb::arg("slot_count"), nb::arg("random_state_count"))
      .def("place", &Step::place, nb::arg("allocations"), nb::arg("size"))
      .def("run", &Step::run, nb::arg("inputs"), nb::arg("parameters"), nb::arg("written"))
      .def("time", &Step::time, nb::arg("inputs"))
      .def("record", &Step::record, nb::arg("inputs"), nb::arg("parameters"), nb::arg("written"));
  module.def("start_counting", &checkmate::runtime::start_counting);
  module.def("stop_counting", &checkmate::runtime::stop_counting);
  module.def("held_outside", [] {
    const checkmate::runtime::HeldBytes held = checkmate::runtime::held_outside();
    return std::pair(held.most, held.now);
  });
  module.def("release_memory", &checkmate::runtime::release_memory, nb::call_guard<nb::gil_scoped_release>());
  module.def("in_arena", [](nb::handle tensor) { return checkmate::runtime::in_arena(tensor_of(tensor)); });
  module.def("unowned", [](nb::handle tensor) {
    const at::Tensor owned = tensor_of(tensor);
    return wrapped(at::from_blob(owned.data_ptr(), owned.sizes(), owned.strides(), owned.options()));
  });
  module.def("arena_memory", &checkmate::runtime::arena_memory);
}
