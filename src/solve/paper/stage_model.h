#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkmate/graph.h"
#include "lp/linear_program.h"

namespace checkmate {

/// Whether stage t must run op t for the first time, or every op just has to run by the end.
enum class Partition : std::uint8_t { kFrontier, kFree };

/// The paper's mixed-integer program over n stages, as docs/formulation.md states it; numbers in parentheses
/// are its equations. Variables: R[t][i], op i runs in stage t; S[t][v], tensor v is kept into stage t;
/// FREE[t][v][k], v is freed in stage t right after op k; U[t][k], memory in stage t while k runs. Only this
/// class knows the columns. Bytes are in units of their greatest common divisor and scaled to a budget of
/// kScale, costs to a mean of 1. O(n (n + edges)) columns and rows.
class StageModel {
 public:
  static constexpr std::uint32_t kEveryOp = UINT32_MAX;
  struct Options {
    Bytes budget;
    std::uint32_t stages =
        kEveryOp;  ///< fewer than ops: each stage has several first runs; smaller, but no bound
    Partition partition = Partition::kFrontier;
    bool tight = true;  ///< one row per hazard (9a-9c) instead of the paper's one for all (9): a better bound
    bool named = false;  ///< columns get names, for files
  };
  StageModel(const Graph& graph, const Options& options);

  /// About how many columns such a model would have.
  static std::size_t column_estimate(const Graph& graph, Partition partition, std::size_t stages = kEveryOp);

  const LinearProgram& program() const { return program_; }
  /// From the program's objective to the graph's costs.
  double cost_of(double objective) const { return objective * cost_scale_; }

  /// Columns of a plan of the paper's class: each op at most once per stage, in index order.
  std::vector<double> columns_of(std::span<const OpId> steps) const;
  /// The runs of a whole solution, stage by stage.
  std::vector<OpId> steps_of(std::span<const double> values) const;
  /// How much of a tensor is there right before an op first runs, and so is kept until then; 0 to 1.
  double kept(std::span<const double> values, OpId before, TensorId tensor) const;
  /// Moves the budget of a solver that holds this program.
  void set_budget(LinearSolver& solver, Bytes budget) const;

 private:
  static constexpr std::int32_t kNone = -1;
  /// What may be freed after an op: a tensor that it reads or makes.
  struct Release {
    TensorId tensor;
    std::size_t later_users;  ///< where the tensor's users after the op begin
  };
  std::uint32_t last_op(std::uint32_t stage) const {
    return partition_ == Partition::kFree ? ops_ - 1 : ends_[stage];
  }
  double scaled(Bytes bytes) const { return static_cast<double>(bytes.count()) * byte_scale_; }
  double scaled_budget(Bytes budget) const;
  std::int32_t run(std::uint32_t stage, std::uint32_t op) const {
    return runs_[stage * std::size_t{ops_} + op];
  }
  std::int32_t keep(std::uint32_t stage, TensorId tensor) const {
    return keeps_[stage * graph_.tensor_count() + tensor.index()];
  }

  std::int32_t release(std::uint32_t stage, std::uint32_t op, std::size_t which) const {
    return first_release_[stage * std::size_t{ops_} + op] + static_cast<std::int32_t>(which);
  }

  void add_columns(bool named);
  void add_dependencies();
  void add_frontier();
  void add_frees(std::uint32_t stage);
  void add_memory(std::uint32_t stage);
  std::vector<Release> releases_after(std::uint32_t op) const;
  static void add_terms(std::vector<Term>& terms, double coefficient,
                        std::initializer_list<std::int32_t> columns);
  void fill_memory(std::vector<double>& values) const;

  const Graph& graph_;
  Partition partition_;
  bool tight_;
  std::uint32_t ops_;
  std::uint32_t stages_ = 0;
  std::vector<std::uint32_t> ends_;      // by stage: the last op that first runs there
  std::vector<std::uint32_t> stage_of_;  // by op: where it first runs
  std::int64_t unit_ = 1;
  double byte_scale_;
  double cost_scale_;
  double budget_;
  LinearProgram program_;
  std::vector<std::int32_t> runs_;   // R, by stage and op
  std::vector<std::int32_t> keeps_;  // S, by stage and tensor; one stage more for the end, always kNone
  std::vector<std::int32_t> first_release_;     // FREE, by stage and op: the first of releases_after(op)
  std::vector<std::vector<Release>> releases_;  // by op
  std::vector<std::int32_t> memory_;            // U, by stage and op
};

/// Why the model is not built, if it is not: it would not fit in memory.
std::optional<std::string> stage_model_refusal(const Graph& graph, Partition partition,
                                               std::size_t stages = StageModel::kEveryOp);

}  // namespace checkmate
