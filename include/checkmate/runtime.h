#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "checkmate/rows.h"

/// Runs a planned training step with LibTorch: ops through the dispatcher, below autograd, at planned
/// addresses. Needs LibTorch's core headers and no Python.
namespace checkmate::runtime {

using Stack = ::torch::jit::Stack;
using Slot = std::uint32_t;  ///< where a value is, while the step runs

struct TensorLayout {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  c10::ScalarType type;
};

/// Functions that a compiler made of a group of ops, and the memory that they take. They get pointers, and
/// know nothing of tensors.
struct CompiledKernel {
  using Function = void (*)();
  static constexpr std::size_t kMostPointers = 64;

  /// An operand is an argument or, with a higher number, a buffer.
  struct Allocate {
    std::uint32_t operand;
    TensorLayout layout;
  };
  struct Pointer {
    std::uint32_t operand;
    std::int64_t element = 0;
  };
  struct Launch {
    Function function;
    std::vector<Pointer> pointers;
  };
  struct Free {
    std::uint32_t operand;
  };
  using Action = std::variant<Allocate, Launch, Free>;
  /// A view of an operand.
  struct Result {
    std::uint32_t operand;
    TensorLayout layout;
  };

  std::vector<TensorLayout> arguments = {};  ///< what it was compiled for
  std::size_t operand_count = 0;
  std::vector<Action> actions = {};
  std::vector<Result> results = {};
};

/// What a call runs: it takes its arguments from the stack and leaves its results there.
class Kernel {
 public:
  /// Such as `aten::add` and `Tensor`. Throws c10::Error for an op that torch does not have.
  static Kernel op(const std::string& name, const std::string& overload);
  /// Throws std::invalid_argument for an operand that does not exist, or has no memory when it is used.
  static Kernel compiled(CompiledKernel kernel);
  /// Anything else, such as a function of another language. With `planned`, it allocates the same each time,
  /// and its allocations have planned places.
  static Kernel function(std::function<void(Stack&)> function, bool planned = false);

  /// Of an op, null of others.
  const c10::FunctionSchema* schema() const;
  bool is_planned() const { return planned_; }
  void operator()(Stack& stack) const;

 private:
  std::optional<c10::OperatorHandle> op_;
  std::function<void(Stack&)> function_;
  bool planned_ = true;
};

/// An argument of type Tensor.
struct TensorArgument {
  std::uint32_t position;
  Slot slot;
};

/// An argument of type Tensor[] or Tensor?[].
struct ListArgument {
  std::uint32_t position;
  bool optional_elements;
  std::vector<std::optional<Slot>> slots;
};

/// A result that somebody reads.
struct CallResult {
  std::uint32_t position;
  std::optional<std::uint32_t> element;  ///< of a list of tensors
  Slot slot;
};

struct Call {
  Kernel kernel;
  Stack arguments = {};  ///< all of them; tensors are filled in when it runs
  std::vector<TensorArgument> tensors = {};
  std::vector<ListArgument> lists = {};
  std::vector<CallResult> results = {};
};

/// How an op that draws random numbers and runs more than once draws the same ones again.
enum class Randomness : std::uint8_t {
  kNone,
  kRemember,  ///< notes the state of the generator before it draws
  kRepeat,    ///< draws from the state that was noted, and leaves the generator as it was
};

/// Where a step waits for its caller: it shows values, and takes others.
struct Pause {
  std::vector<Slot> shown = {};
  std::vector<Slot> awaited = {};
};

/// One step of a plan: an op with what runs in place on its results, and the views that it reads.
struct Run {
  std::vector<Call> calls = {};
  std::vector<Slot> drops = {};  ///< values that are dropped after it
  Randomness randomness = Randomness::kNone;
  std::uint32_t random_state = 0;   ///< which of the noted states
  bool effect = false;              ///< it writes into an input: from here on the step is not interrupted
  std::optional<Pause> pause = {};  ///< after its calls, before its drops
};

struct StepProgram {
  std::size_t slot_count = 0;
  std::size_t random_state_count = 0;
  std::vector<Slot> inputs = {};
  std::vector<Run> runs = {};
  std::vector<Slot> results = {};
};

/// An allocation that is expected.
struct PlannedAllocation {
  static constexpr std::size_t kOutside = static_cast<std::size_t>(-1);
  std::size_t bytes;
  std::size_t offset;  ///< kOutside: malloc's
};

/// Where the allocations of a step lie in its arena.
struct Addresses {
  std::size_t size = 0;
  Rows<PlannedAllocation>
      of_run;  ///< in the order in which the run makes them, those of kernels that are not planned left out
};

/// What became of the allocations of a step.
struct AllocationCounts {
  std::size_t placed = 0;      ///< at their planned addresses
  std::size_t outside = 0;     ///< as planned, malloc's
  std::size_t unexpected = 0;  ///< other sizes, or more of them, than planned: malloc's
  std::size_t occupied = 0;    ///< somebody still holds their place: malloc's
};

/// Every allocation of a step that was run to see them.
struct AllocationLog {
  struct Event {
    std::uint32_t allocation;  ///< its number
    std::int64_t bytes;        ///< negative: it is freed
  };
  struct RunSpan {
    std::size_t begin;
    std::size_t end;  ///< what comes after it, until the next begins, is done by drops
  };
  struct Value {
    std::uint32_t run;
    Slot slot;
    std::uint32_t allocation;
  };
  std::vector<Event> events;
  std::vector<RunSpan> runs;
  std::vector<Value> values;  ///< which allocation the results of each run lie in
};

/// Runs a step. One executor may run on several threads at once.
class Executor {
 public:
  /// Throws std::invalid_argument for a slot that does not exist, or is read before it has a value.
  explicit Executor(StepProgram program);

  struct Options {
    const Addresses* addresses = nullptr;  ///< null: everything comes from malloc
    AllocationCounts* counts = nullptr;    ///< where to add them up
    AllocationLog* log = nullptr;          ///< to be filled; without addresses
    std::function<void()> poll = {};       ///< called between runs before the first effect; may throw
    std::vector<std::chrono::nanoseconds>* times = nullptr;  ///< to be filled: of each run, with its drops
  };

  /// The results of the step. What it throws, kernels throw; nothing but what runs with an effect wrote is
  /// changed then, and all its memory is free. Ops run below autograd, without autocast. Throws
  /// std::invalid_argument for a program that pauses.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs, const Options& options) const;

  const StepProgram& program() const { return program_; }

 private:
  StepProgram program_;
};

/// A step that runs in parts, from pause to pause. Its values stay where they are in between, and the arena
/// is not shared meanwhile. Each part may run on another thread. The executor and what the options point to
/// must outlive it.
class StepRun {
 public:
  StepRun(const Executor& executor, std::vector<at::Tensor> inputs, const Executor::Options& options);
  ~StepRun();
  StepRun(StepRun&& other) noexcept;
  StepRun& operator=(StepRun&&) = delete;

  /// Runs up to the next pause, or to the end. Throws as Executor::run() does.
  void advance();
  /// Before the end.
  bool paused() const;
  /// What the pause shows: tensors that share memory and version with the step's values, but are not those,
  /// so that who takes part in autograd with them does not hold the step. At the end, once, its results.
  std::vector<at::Tensor> shown();
  /// Hands over what the pause awaits.
  void put(std::vector<at::Tensor> awaited);
  /// The same run once more, from here on, at addresses of malloc's. Inputs are shared, all else is copied.
  StepRun copy() const;

 private:
  struct State;
  explicit StepRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Bytes that are held at some time.
struct HeldBytes {
  std::int64_t most;  ///< since they were asked for before
  std::int64_t now;
};

/// Begins to count what is allocated outside of steps, on all threads, and still held. There is one count in
/// the process: it begins anew.
void start_counting();
HeldBytes held_outside();
void stop_counting();

/// Whether it lies in the arena of a step that has ended: as long as it does, a step that needs the whole
/// arena takes another.
bool in_arena(const at::Tensor& tensor);

/// Returns the memory of all arenas that nobody uses to the system.
void release_memory();

/// Bytes of address space that arenas take.
std::size_t arena_memory();

}  // namespace checkmate::runtime
