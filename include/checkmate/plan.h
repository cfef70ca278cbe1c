#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/rows.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// Whether the first runs of the ops follow the graph's order or may move.
enum class Order : std::uint8_t { kFixed, kFree };
std::string_view to_string(Order order);  ///< `fixed`, `free`
std::optional<Order> parse_order(std::string_view text);

/// The tensors that are freed after each step.
class Frees {
 public:
  std::size_t step_count() const { return rows_.size(); }
  std::span<const TensorId> after(std::size_t step) const { return rows_[step]; }
  void push_step(std::span<const TensorId> freed) { rows_.push(freed); }
  bool operator==(const Frees&) const = default;

 private:
  Rows<TensorId> rows_;
};

/// A sequence of runs, and what is freed after each of them.
///
///     steps   a    b    c    a    d          a, b, c run for the first time, a is recomputed for d
///     frees        a         .    a c ...    freed right after the step above
struct Plan {
  std::vector<OpId> steps;
  Frees frees;
  bool operator==(const Plan&) const = default;
};

/// Frees each tensor right after the last step that uses it before its next run or the end, an unused one
/// right after it is made, and an output never after its last run. An error when a step names an op that the
/// graph does not have; a missing input is left for simulate() to find. Linear in the steps' inputs and
/// outputs.
Result<Frees> tightest_frees(const Graph& graph, std::span<const OpId> steps);

/// Steps with their tightest frees.
Result<Plan> plan_from_steps(const Graph& graph, std::vector<OpId> steps);

/// Runs every op once in the graph's order.
Plan keep_all_plan(const Graph& graph);

}  // namespace checkmate
#pragma GCC visibility pop
