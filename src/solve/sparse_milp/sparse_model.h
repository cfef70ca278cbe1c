#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkmate/graph.h"
#include "lp/linear_program.h"
#include "solve/common/expand.h"

namespace checkmate {

/// Which plans a model, and so its bound, holds for: all of the order, or those of the paper's class.
enum class Scope : std::uint8_t { kEveryPlan, kPapersClass };

/// Memory in stage `stage`, which must be a block of its own, while an op is rerun there; a stage after the
/// last op is what comes after all first runs.
struct InnerMoment {
  Stage stage;
  OpId op;
  auto operator<=>(const InnerMoment&) const = default;
};

/// The linear program over a few moments. Moment t is while op t first runs; the first runs after a moment up
/// to the next are a block. R[b][i]: op i, which first ran before block b, is rerun in it. S[b][v]: tensor v
/// is kept across the moment before block b. For every block b, v made by op i before it:
///
///     minimise   sum of cost[i] R[b][i]
///     S[b][v] + R[b][i]  = 1             a first run in b reads v, or v is an output and b is the last block
///     R[b][j] <= S[b][v] + R[b][i] <= 1  otherwise, op j reads v
///     S[b+1][v] <= S[b][v] + R[b][i]
///     sum of bytes[v] S[b+1][v] over what the moment's op t does not read + own bytes of t <= budget
///
/// Memory is bounded at the moments only, so every plan of the order, whatever it recomputes and when, is a
/// solution: the optimum, and the relaxation's, is a lower bound. Inner moments add rows, fewer if the model
/// is to hold for every plan. Few moments make a strong relaxation: it can pay for a value in parts, block by
/// block. Bytes are scaled to a budget of 1000 and costs to a sum of 1000. O(moments x (ops + edges)) columns
/// and rows.
class SparseModel {
 public:
  static constexpr std::int32_t kNone = -1;
  struct Options {
    Bytes budget;
    std::vector<Stage> moments;  ///< rising
    std::vector<InnerMoment> inner = {};
    Scope scope = Scope::kEveryPlan;
  };
  SparseModel(const Graph& graph, const Options& options);

  /// At most how many columns such a model has.
  static std::size_t column_estimate(const Graph& graph, std::size_t moments);

  const Graph& graph() const { return graph_; }
  const LinearProgram& program() const { return program_; }
  /// From the program's objective to the graph's costs, those of the first runs included.
  double cost_of(double objective) const;

  /// A plan's columns, which hold the rows if the plan holds the budget. The steps are runnable, and their
  /// first runs follow the order.
  std::vector<double> columns_of(std::span<const OpId> steps) const;
  void add_row(const LinearRow& row) { program_.add_row(row.lower, row.upper, row.terms); }

  /// What is left of the budget while the op runs, which may be less than nothing.
  Bytes room_at(OpId op) const;
  /// What the values leave free at the moment that ends the block, in shares of the budget.
  double free_share(std::uint32_t block, std::span<const double> values) const;
  /// In shares of the budget without the fixed bytes.
  double share(Bytes bytes) const { return scaled(bytes) / scaled(budget_); }
  std::span<const Stage> moments() const { return moments_; }
  std::uint32_t block_count() const { return static_cast<std::uint32_t>(moments_.size() + 1); }
  std::uint32_t first_op(std::uint32_t block) const { return block == 0 ? 0 : moments_[block - 1] + 1; }
  /// Where an op first runs; the number of ops stands for what comes after all first runs.
  std::uint32_t block_of(Stage stage) const;
  /// Whether a first run in the block reads the tensor, or the end of the plan asks for it there.
  bool needed_first(std::uint32_t block, TensorId tensor) const;
  /// One after the last op that first runs in the block.
  std::uint32_t end_op(std::uint32_t block) const {
    return block < moments_.size() ? moments_[block] + 1 : static_cast<std::uint32_t>(graph_.op_count());
  }
  /// The column, or kNone where the op cannot or need not be rerun.
  std::int32_t run(std::uint32_t block, OpId op) const {
    return runs_[block * graph_.op_count() + op.index()];
  }
  /// The column, or kNone where the tensor does not exist yet or is of no more use. block_count() is the end.
  std::int32_t keep(std::uint32_t block, TensorId tensor) const {
    return keeps_[block * graph_.tensor_count() + tensor.index()];
  }

 private:
  double scaled(Bytes bytes) const { return static_cast<double>(bytes.count()) * byte_scale_; }

  std::vector<Term> memory_terms(std::uint32_t block) const;
  void find_last_needs();
  void add_columns();
  void add_needs(std::uint32_t block);
  void add_stays(std::uint32_t block);
  void add_memory(std::uint32_t block);
  void add_rerun(std::uint32_t block, OpId op);
  void add_turn(std::uint32_t block, OpId op);
  void add_held(std::vector<Term>& terms, std::uint32_t block, OpId op, TensorId tensor);

  const Graph& graph_;
  std::vector<Stage> moments_;
  Bytes budget_;  // without the fixed bytes
  double byte_scale_;
  double cost_scale_;
  LinearProgram program_;
  std::vector<std::uint32_t> op_need_;  // the last stage in which a rerun of the op can be of use
  std::vector<std::uint32_t>
      tensor_need_;                  // the last stage in which the tensor can be read; UINT32_MAX: output
  std::vector<std::int32_t> runs_;   // by block and op
  std::vector<std::int32_t> keeps_;  // by block and tensor, one block more for the end
  /// A column that is 1 where any, or all, of others are.
  struct Held {
    Column column;
    bool all;
    std::vector<Column> reasons;
  };
  std::vector<Held> held_;
};

}  // namespace checkmate
