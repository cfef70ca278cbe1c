#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"

/// Training graphs one kernel at a time, the way PyTorch's autograd makes them: each forward kernel says how
/// its gradient is computed and from which saved tensors, and a walk over the tape in reverse does the rest.
namespace checkmate::zoo::autograd {

/// What kernels read and make: a tensor, or a view that lives in its base's tensor, seen as a matrix.
struct Value {
  static constexpr std::uint32_t kConstant = UINT32_MAX;

  TensorId tensor;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::uint32_t slot = kConstant;  ///< where its gradient is collected; kConstant has none

  std::int64_t elements() const { return rows * columns; }
  bool differentiable() const { return slot != kConstant; }
  /// A reshape or transposition that moves no data, forward or backward.
  Value reshaped(std::int64_t new_rows, std::int64_t new_columns) const {
    return {tensor, new_rows, new_columns, slot};
  }
};

/// What an element takes: the tape's element_bytes, or 4 (statistics), 1 (masks) or 8 bytes (indices).
enum class Type : std::uint8_t { kElement, kStatistic, kMask, kIndex };

struct Output {
  std::string_view suffix;  ///< of the tensor's name; the op's own name where empty
  std::int64_t rows;
  std::int64_t columns;
  Type type = Type::kElement;
};

/// One op. Its name is the scope's, with the suffix.
struct Kernel {
  std::string_view kind;
  std::string_view suffix = {};
  std::int64_t cost;
  std::vector<Value> reads;
  Bytes workspace = {};
  bool recomputable = true;
};

/// A value that a backward kernel makes a gradient for.
struct Target {
  std::string_view suffix;
  Value value;
};

/// Records kernels and writes the training step: forward, loss, backward, update.
///
///     Value square(Tape& tape, Value x) {
///       const Tape::Scope scope(tape, "square");
///       const Kernel kernel{.kind = "square", .cost = x.elements(), .reads = {x}};
///       const Value y = tape.run(kernel, {"", x.rows, x.columns});
///       tape.on_backward([=](Tape& t) {
///         const Value dy = t.gradient(y);
///         t.run_backward({.kind = "mul", .suffix = "backward", .cost = x.elements(), .reads = {dy, x}}, x);
///       });
///       return y;
///     }
class Tape {
 public:
  /// Names what is made during its life `outer.name`.
  class Scope {
   public:
    Scope(Tape& tape, std::string_view name);
    ~Scope() { tape_.scope_.resize(length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Tape& tape_;
    std::size_t length_;
  };

  Tape(std::string graph_name, std::int64_t element_bytes);

  /// A resident tensor without a gradient: the batch, a constant.
  Value constant(std::string_view name, std::int64_t rows, std::int64_t columns, Type type);
  /// A resident tensor with a gradient, which becomes the output `name.grad`.
  Value parameter(std::string_view name, std::int64_t rows, std::int64_t columns);

  /// What is run from now on belongs to this phase.
  void enter(Phase phase) { phase_ = phase; }
  Value run(const Kernel& kernel, const Output& output);
  /// Of several outputs only the first has a gradient.
  std::vector<Value> run_many(const Kernel& kernel, const std::vector<Output>& outputs);
  /// A part or a repetition of a value. A step of on_backward() must bring its gradient to the base.
  Value view(Value base, std::int64_t rows, std::int64_t columns);
  /// How the gradients of what was just run or viewed reach its inputs. Steps run in reverse order.
  void on_backward(std::function<void(Tape&)> step) { steps_.push_back({scope_, std::move(step)}); }

  /// The sum of all gradients handed to a value, complete when the step of its own kernel runs.
  Value gradient(Value value) const;
  /// The gradient of `to` is that of another value: no kernel runs and no memory is taken.
  void pass_gradient(Value to, Value gradient);
  /// Runs a kernel that makes one gradient per target.
  void run_backward(const Kernel& kernel, const std::vector<Target>& targets);
  void run_backward(const Kernel& kernel, Value target) {
    run_backward(kernel, std::vector<Target>{{"", target}});
  }

  /// The backward phase. The loss and the gradients of the parameters become outputs.
  void backward(Value loss);
  /// The update phase: clipping by the norm of all gradients, then one step of SGD per parameter. The norm
  /// reads every gradient, so that no weight changes before the last one is there, in whatever order ops run.
  void clip_and_update();

  Result<Graph> finish() &&;

 private:
  struct Slot {
    std::string name;
    std::optional<TensorId> sum;
    int arrivals = 0;
  };
  struct Step {
    std::string scope;
    std::function<void(Tape&)> run;
  };
  std::string in_scope(std::string_view suffix) const;
  std::int64_t bytes_of(Type type) const;
  Value resident(std::string_view name, std::int64_t rows, std::int64_t columns, Type type);
  std::uint32_t new_slot(std::string name);
  void add_up(Value to, Value gradient);
  TensorId new_tensor(TensorSpec spec);

  GraphBuilder builder_;
  std::int64_t element_bytes_;
  std::string scope_;
  Phase phase_ = Phase::kForward;
  std::vector<TensorSpec> tensors_;  // handed to the builder last: what is an output is known only then
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<std::pair<Value, Value>> passed_;  // by the step that runs: the value and a gradient for it
  std::vector<Value> parameters_;
};

}  // namespace checkmate::zoo::autograd
