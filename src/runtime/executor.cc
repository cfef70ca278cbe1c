#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "checkmate/runtime.h"
#include "runtime/allocator.h"
#include "runtime/arenas.h"

namespace checkmate::runtime {
namespace {

using Slots = std::vector<at::Tensor>;

/// The processor's generator as it was.
class GeneratorState {
 public:
  void remember() {
    at::CPUGeneratorImpl& generator = of_process();
    const std::scoped_lock lock(generator.mutex_);
    engine_ = generator.engine();
    next_float_ = generator.next_float_normal_sample();
    next_double_ = generator.next_double_normal_sample();
  }

  void restore() const {
    at::CPUGeneratorImpl& generator = of_process();
    const std::scoped_lock lock(generator.mutex_);
    generator.set_engine(engine_);
    generator.set_next_float_normal_sample(next_float_);
    generator.set_next_double_normal_sample(next_double_);
  }

 private:
  static at::CPUGeneratorImpl& of_process() {
    return *at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
  }

  at::mt19937 engine_;
  std::optional<float> next_float_;
  std::optional<double> next_double_;
};

/// Puts the generator back as it was, also when a kernel throws.
class Repetition {
 public:
  explicit Repetition(const GeneratorState& then) {
    now_.remember();
    then.restore();
  }
  ~Repetition() { now_.restore(); }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;

 private:
  GeneratorState now_;
};

/// As generated Python code runs: no history, no casts in addition to those that were traced, and gradient
/// mode on, without which oneDNN's recurrent layers do not make what their backward pass reads.
struct BelowAutograd {
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
  at::AutoGradMode gradients{true};
};

template <class List>
c10::IValue list_of(const ListArgument& list, const Slots& slots) {
  List values;
  values.reserve(list.slots.size());
  for (const std::optional<Slot>& slot : list.slots) {
    if (slot) {
      values.push_back(slots[*slot]);
    } else {
      values.push_back({});
    }
  }
  return values;
}

void run_call(const Call& call, Slots& slots, Stack& stack) {
  stack = call.arguments;
  for (const TensorArgument& argument : call.tensors) {
    stack[argument.position] = slots[argument.slot];
  }
  for (const ListArgument& list : call.lists) {
    stack[list.position] = list.optional_elements ? list_of<c10::List<std::optional<at::Tensor>>>(list, slots)
                                                  : list_of<c10::List<at::Tensor>>(list, slots);
  }
  if (call.kernel.is_planned()) {
    call.kernel(stack);
  } else {
    const SourceScope torch_own(nullptr);
    call.kernel(stack);
  }
  for (const CallResult& result : call.results) {
    c10::IValue& value = stack.at(result.position);
    if (result.element) {
      slots[result.slot] = value.toTensorList().get(*result.element);
    } else {
      slots[result.slot] = std::move(value).toTensor();
    }
  }
  stack.clear();
}

void run_calls(const Run& run, Slots& slots, Stack& stack, std::vector<GeneratorState>& states) {
  std::optional<Repetition> repetition;
  if (run.randomness == Randomness::kRemember) {
    states[run.random_state].remember();
  } else if (run.randomness == Randomness::kRepeat) {
    repetition.emplace(states[run.random_state]);
  }
  for (const Call& call : run.calls) {
    run_call(call, slots, stack);
  }
}

void log_values(const Run& run, std::uint32_t number, const Slots& slots, const RecordingSource& source,
                AllocationLog& log) {
  for (const Call& call : run.calls) {
    for (const CallResult& result : call.results) {
      const at::Tensor& value = slots[result.slot];
      if (value.defined() && value.has_storage()) {
        if (const auto allocation = source.allocation_at(value.storage().data())) {
          log.values.push_back({number, result.slot, *allocation});
        }
      }
    }
  }
}

/// Notes how long each run took, if somebody wants to know.
class Stopwatch {
 public:
  explicit Stopwatch(std::vector<std::chrono::nanoseconds>* times) : times_(times) {
    if (times_ != nullptr) {
      times_->clear();
      begin_ = Clock::now();
    }
  }
  void lap() {
    if (times_ != nullptr) {
      const Clock::time_point now = Clock::now();
      times_->push_back(now - begin_);
      begin_ = now;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<std::chrono::nanoseconds>* times_;
  Clock::time_point begin_;
};

/// Over copies of the storages, each of which is copied once.
at::Tensor copied(const at::Tensor& tensor, std::unordered_map<const void*, c10::Storage>& copies) {
  if (!tensor.defined() || !tensor.has_storage()) {
    return tensor;
  }
  const c10::Storage& storage = tensor.storage();
  auto found = copies.find(storage.unsafeGetStorageImpl());
  if (found == copies.end()) {
    c10::Storage fresh(c10::Storage::use_byte_size_t(), static_cast<std::int64_t>(storage.nbytes()),
                       c10::GetCPUAllocator());
    std::memcpy(fresh.mutable_data(), storage.data(), storage.nbytes());
    found = copies.emplace(storage.unsafeGetStorageImpl(), std::move(fresh)).first;
  }
  return at::empty({0}, tensor.options())
      .set_(found->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

/// Every slot is written before it is read, and exists.
class Checker {
 public:
  explicit Checker(const StepProgram& program) : program_(program), written_(program.slot_count) {}

  void check() {
    for (const Slot slot : program_.inputs) {
      write(slot);
    }
    for (number_ = 0; number_ < program_.runs.size(); ++number_) {
      check_run(program_.runs[number_]);
    }
    for (const Slot slot : program_.results) {
      read(slot);
    }
  }

 private:
  void check_run(const Run& run) {
    if (run.randomness != Randomness::kNone && run.random_state >= program_.random_state_count) {
      fail(fmt::format("there is no random state {}", run.random_state));
    }
    for (const Call& call : run.calls) {
      for (const TensorArgument& argument : call.tensors) {
        read(argument.slot);
        has_position(argument.position, call);
      }
      for (const ListArgument& list : call.lists) {
        has_position(list.position, call);
        for (const std::optional<Slot>& slot : list.slots) {
          if (slot) {
            read(*slot);
          }
        }
      }
      for (const CallResult& result : call.results) {
        write(result.slot);
      }
    }
    if (run.pause) {
      for (const Slot slot : run.pause->shown) {
        read(slot);
      }
      for (const Slot slot : run.pause->awaited) {
        write(slot);
      }
    }
    for (const Slot slot : run.drops) {
      read(slot);
      written_[slot] = false;
    }
  }

  void has_position(std::uint32_t position, const Call& call) const {
    if (position >= call.arguments.size()) {
      fail(fmt::format("there is no argument {}", position));
    }
  }
  void exists(Slot slot) const {
    if (slot >= written_.size()) {
      fail(fmt::format("there is no slot {}", slot));
    }
  }
  void read(Slot slot) const {
    exists(slot);
    if (!written_[slot]) {
      fail(fmt::format("slot {} is read before it has a value", slot));
    }
  }
  void write(Slot slot) {
    exists(slot);
    written_[slot] = true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument(fmt::format("run {} of {}: {}", number_, program_.runs.size(), what));
  }

  const StepProgram& program_;
  std::vector<char> written_;
  std::size_t number_ = 0;
};

}  // namespace

Kernel Kernel::op(const std::string& name, const std::string& overload) {
  Kernel kernel;
  kernel.op_ = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
  return kernel;
}

Kernel Kernel::function(std::function<void(Stack&)> function, bool planned) {
  Kernel kernel;
  kernel.function_ = std::move(function);
  kernel.planned_ = planned;
  return kernel;
}

const c10::FunctionSchema* Kernel::schema() const { return op_ ? &op_->schema() : nullptr; }

void Kernel::operator()(Stack& stack) const {
  if (op_) {
    op_->callBoxed(stack);
  } else {
    function_(stack);
  }
}

Executor::Executor(StepProgram program) : program_(std::move(program)) { Checker(program_).check(); }

std::vector<at::Tensor> Executor::run(std::vector<at::Tensor> inputs, const Options& options) const {
  StepRun step(*this, std::move(inputs), options);
  step.advance();
  if (step.paused()) {
    throw std::invalid_argument("the step pauses: run it in parts");
  }
  return step.shown();
}

struct StepRun::State {
  State(const StepProgram& step_program, const Executor::Options& given)
      : program(step_program),
        options(given),
        may_stop(static_cast<bool>(given.poll)),
        slots(step_program.slot_count),
        states(step_program.random_state_count) {
    if (options.log != nullptr) {
      recording.emplace(*options.log);
    } else if (options.addresses != nullptr) {
      planned.emplace(*options.addresses, options.counts != nullptr ? *options.counts : uncounted);
    }
  }

  AllocationSource* source() {
    AllocationSource* at_addresses = planned ? static_cast<AllocationSource*>(&*planned) : nullptr;
    return recording ? static_cast<AllocationSource*>(&*recording) : at_addresses;
  }

  void run_next(Stack& stack) {
    const Run& run = program.runs[next];
    may_stop = may_stop && !run.effect;
    if (may_stop) {
      options.poll();
    }
    if (planned) {
      planned->begin(next);
    } else if (recording) {
      recording->begin_run();
    }
    run_calls(run, slots, stack, states);
    if (recording) {
      log_values(run, static_cast<std::uint32_t>(next), slots, *recording, *options.log);
      recording->end_run();
    }
  }

  void end_run() {
    for (const Slot slot : program.runs[next].drops) {
      slots[slot].reset();
    }
    ++next;
  }

  const StepProgram& program;
  Executor::Options options;
  AllocationCounts uncounted;
  std::optional<PlannedSource> planned;
  std::optional<RecordingSource> recording;
  bool may_stop;
  Slots slots;  // after what they come from: they go first
  std::vector<GeneratorState> states;
  std::size_t next = 0;
  bool waiting = false;   // at the pause of the next run, which has made its calls
  bool answered = false;  // what that pause awaits is there
};

StepRun::StepRun(const Executor& executor, std::vector<at::Tensor> inputs, const Executor::Options& options) {
  const StepProgram& program = executor.program();
  if (inputs.size() != program.inputs.size()) {
    throw std::invalid_argument(
        fmt::format("the step takes {} inputs, got {}", program.inputs.size(), inputs.size()));
  }
  state_ = std::make_unique<State>(program, options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    state_->slots[program.inputs[i]] = std::move(inputs[i]);
  }
}

StepRun::StepRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
StepRun::~StepRun() = default;
StepRun::StepRun(StepRun&& other) noexcept = default;

void StepRun::advance() {
  State& state = *state_;
  if (state.waiting) {
    throw std::logic_error("the step waits for values");
  }
  const SourceScope scope(state.source());
  const BelowAutograd below;
  Stopwatch stopwatch(state.options.times);
  Stack stack;
  if (std::exchange(state.answered, false)) {
    state.end_run();
  }
  while (state.next < state.program.runs.size()) {
    state.run_next(stack);
    if (state.program.runs[state.next].pause) {
      state.waiting = true;
      return;
    }
    state.end_run();
    stopwatch.lap();
  }
}

bool StepRun::paused() const { return state_->waiting; }

std::vector<at::Tensor> StepRun::shown() {
  State& state = *state_;
  const std::vector<Slot>& wanted =
      state.waiting ? state.program.runs[state.next].pause->shown : state.program.results;
  std::vector<at::Tensor> found;
  found.reserve(wanted.size());
  for (const Slot slot : wanted) {
    found.push_back(state.waiting ? state.slots[slot].detach() : state.slots[slot]);
  }
  if (!state.waiting) {
    state.slots.clear();
  }
  return found;
}

void StepRun::put(std::vector<at::Tensor> awaited) {
  State& state = *state_;
  if (!state.waiting) {
    throw std::logic_error("the step waits for nothing");
  }
  const std::vector<Slot>& places = state.program.runs[state.next].pause->awaited;
  if (awaited.size() != places.size()) {
    throw std::invalid_argument(
        fmt::format("the step waits for {} values, got {}", places.size(), awaited.size()));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    state.slots[places[i]] = std::move(awaited[i]);
  }
  state.waiting = false;
  state.answered = true;
}

StepRun StepRun::copy() const {
  const State& from = *state_;
  auto to = std::make_unique<State>(from.program, Executor::Options{.poll = from.options.poll});
  std::unordered_map<const void*, c10::Storage> copies;
  for (const Slot slot : from.program.inputs) {
    if (const at::Tensor& input = from.slots[slot]; input.defined() && input.has_storage()) {
      copies.emplace(input.storage().unsafeGetStorageImpl(), input.storage());
    }
  }
  for (std::size_t slot = 0; slot < from.slots.size(); ++slot) {
    to->slots[slot] = copied(from.slots[slot], copies);
  }
  to->states = from.states;
  to->next = from.next;
  to->waiting = from.waiting;
  to->may_stop = from.may_stop;
  return StepRun(std::move(to));
}

bool in_arena(const at::Tensor& tensor) {
  return tensor.has_storage() && is_of_arena(tensor.storage().data());
}

void release_memory() { release_arenas(); }

std::size_t arena_memory() { return arena_bytes(); }

}  // namespace checkmate::runtime
