#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/solve.h"
#include "checkmate/units.h"

/// Training steps of LibTorch models within a budget of bytes. Users include checkmate/torch.h.
namespace checkmate::torch {

/// Processes that train together. processes_of() in checkmate/torch_processes.h makes this of a
/// c10d::ProcessGroup.
struct Processes {
  int rank = 0;
  int size = 1;
  std::function<void(at::Tensor&)> broadcast = {};  ///< overwrites it by the first process's
  std::function<void(std::vector<at::Tensor>&)> average =
      {};  ///< overwrites each by its mean over the processes
};

/// The options of compile().
struct Options {
  /// For everything that the step holds: parameters, buffers, the batch, gradients, activations and the
  /// workspace of ops. Text such as `2GiB` or `60%`, a share of what the step takes without recomputation, to
  /// which the fixed bytes are added. Empty: no recomputation.
  std::string budget = {};
  std::string reserve = "0";  ///< memory that the step does not see, such as the optimizer's state
  bool measure = true;        ///< false: costs are estimated from the bytes that ops move, without workspace
  Order order = Order::kFixed;  ///< free: first runs may move
  double time_limit = 10.0;     ///< seconds for the search
  double gap = 2e-3;            ///< the search ends when the plan is proven to be this close to the best
  int threads = 1;              ///< maximum number of threads of the search
  std::uint64_t seed = 1;
  std::filesystem::path cache = {};  ///< a folder; by default the user's, which Python uses as well
  std::filesystem::path plan = {};   ///< a plan file that is taken instead of a search
  Processes processes = {};          ///< the first one plans for all, and gradients are averaged
  std::function<void(const Progress&)> on_progress = {};  ///< as SolveOptions::on_progress
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// What a step must know of a model, each time it runs. compile() makes one of a module.
struct Model {
  std::string name = {};
  std::function<std::vector<NamedTensor>()> parameters = {};  ///< each once
  std::function<std::vector<NamedTensor>()> buffers = {};     ///< each once
  std::function<std::vector<bool>()> training = {};           ///< of each module
};

/// From the batch to the loss, and what is returned after it.
using LossFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& batch)>;

/// How far two results are from each other, element by element.
struct Distance {
  std::int64_t differing = 0;  ///< elements whose bits differ
  double largest = 0;          ///< the largest absolute difference; infinite if one side is missing
  bool none() const { return differing == 0; }
};

/// What was predicted, and what was measured.
struct Verification {
  struct Difference {
    Distance loss;
    Distance gradients;
    Distance buffers;
    bool none() const { return loss.none() && gradients.none() && buffers.none(); }
  };
  Difference from_keep_all;  ///< the planned step against the same captured step without recomputation
  Difference from_eager;     ///< the planned step against the model and its loss function
  Bytes budget;
  Bytes predicted_peak;
  Bytes measured_peak;  ///< from the allocator's events
  Bytes keep_all_peak;  ///< the same of the step without recomputation
  Bytes eager_peak;     ///< and of eager LibTorch
  Bytes
      arena;  ///< the block in which the step's allocations lie, what lies outside of it, and the fixed bytes
  double predicted_overhead = 1;
  double seconds = 0;  ///< of the planned step, the best of those timed
  double keep_all_seconds = 0;
  double eager_seconds = 0;

  /// Same numbers, within the budget.
  bool holds() const { return from_keep_all.none() && from_eager.none() && measured_peak <= budget; }
};
std::string to_string(const Verification& verification);

/// How long the parts of compiling took.
struct Timings {
  double capture = 0;
  double costs = 0;
  double solve = 0;
};

/// A plan, and what is known about it.
struct StepPlan {
  const Graph& graph;
  const Plan& plan;
  Bytes budget;
  Cost cost;
  Bytes peak;
  Cost lower_bound;
  Order order;
  std::string method;
  std::uint64_t seed;
  Bytes arena;  ///< what the step's allocations take with the fixed bytes

  double overhead() const { return checkmate::overhead(graph, cost); }
  double gap() const { return relative_gap(cost, lower_bound); }
};
/// Such as `peak 1.2 GiB of 1.3 GiB, overhead 1.043x, at most 0.2% from the best possible`.
std::string to_string(const StepPlan& plan);
std::ostream& operator<<(std::ostream& out, const StepPlan& plan);

/// A training step: `loss = step(x, y)` leaves gradients in grad() of the parameters and updates buffers, as
/// `loss_fn(model, x, y).backward()` does, within the budget.
///
/// Other shapes, training or evaluation of a module, frozen parameters and gradients to add to each need a
/// plan of their own. It is made when such a batch first comes, and remembered; the one that was used least
/// recently makes room when there are more than kMostRemembered.
class Step {
 public:
  static constexpr std::size_t kMostRemembered = 16;

  /// The loss, which has no history. Throws std::runtime_error with a sentence where run() has an Error.
  template <class... Tensors>
  at::Tensor operator()(const Tensors&... batch) {
    Result<at::Tensor> loss = run({batch...});
    if (!loss) raise(loss.error());
    return *std::move(loss);
  }
  /// The same without exceptions. After an error, the model is as it was before.
  Result<at::Tensor> run(const std::vector<at::Tensor>& batch);
  /// What the loss function returned after the loss, of the latest step.
  const std::vector<at::Tensor>& extras() const;

  /// Plans for such a batch, unless that is done. run() does it as well.
  Result<void> prepare(const std::vector<at::Tensor>& batch);
  /// Of the latest batch, or of the example.
  StepPlan plan() const;
  Timings timings() const;

  /// Runs the planned step, the same step without recomputation, and eager LibTorch, from the same state, and
  /// compares them. Puts back parameters, gradients, buffers and the random generator. The last two need the
  /// memory that the plan saves.
  Result<Verification> verify(const std::vector<at::Tensor>& batch, int repeats = 3);
  /// The page of docs/report.md.
  Result<void> report(const std::filesystem::path& path) const;
  /// The plan, for Options::plan, and for the command line together with the graph.
  Result<void> save_plan(const std::filesystem::path& path) const;
  Result<void> save_graph(const std::filesystem::path& path) const;
  /// Returns the memory in which steps run to the system, until the next one. Steps of all models share it.
  static void release();

  Step(Step&&) noexcept;
  Step& operator=(Step&&) noexcept;
  ~Step();

  static Result<Step> compile(Model model, LossFunction loss_fn, const std::vector<at::Tensor>& example,
                              Options options);

 private:
  class State;
  explicit Step(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace checkmate::torch
