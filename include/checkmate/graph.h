#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkmate/result.h"
#include "checkmate/rows.h"
#include "checkmate/units.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// An index into one of a graph's lists. Ids of ops and of tensors do not mix.
template <class Kind>
struct Id {
  std::uint32_t value = 0;
  constexpr std::size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};
using OpId = Id<struct OpKind>;
using TensorId = Id<struct TensorKind>;

/// All ids below a count, in order: `for (OpId op : graph.ops())`.
template <class IdType>
class IdRange {
 public:
  struct Iterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;
    using pointer = const IdType*;
    using reference = IdType;

    std::uint32_t value = 0;
    IdType operator*() const { return IdType{value}; }
    Iterator& operator++() { return ++value, *this; }
    Iterator operator++(int) { return Iterator{value++}; }
    bool operator==(const Iterator&) const = default;
  };
  explicit IdRange(std::size_t count) : count_(static_cast<std::uint32_t>(count)) {}
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count_}; }

 private:
  std::uint32_t count_;
};

/// Which part of the training step an op belongs to.
enum class Phase : std::uint8_t { kForward, kLoss, kBackward, kUpdate };
inline constexpr std::size_t kPhaseCount = 4;

/// `forward`, `loss`, `backward`, `update`.
std::string_view to_string(Phase phase);
/// The inverse of to_string; nothing for any other text.
std::optional<Phase> parse_phase(std::string_view text);

/// A block of storage. A view of another tensor is not a tensor: its users use the base.
struct TensorSpec {
  std::string name;
  Bytes bytes;
  bool resident = false;  ///< always in memory, made by no op: a parameter, a buffer, the batch
  bool output = false;    ///< stays in memory from its last run to the end: the loss, a gradient
};

struct OpSpec {
  std::string name;
  std::string kind =
      {};  ///< what it computes (`conv2d`, `matmul`, ...), for cost models and people; may be empty
  Cost cost;
  std::vector<TensorId> inputs;   ///< a tensor listed twice counts once
  std::vector<TensorId> outputs;  ///< at least one
  Bytes workspace = {};           ///< held only while the op runs
  Phase phase = Phase::kForward;
  bool recomputable = true;  ///< false: runs exactly once (random numbers, collectives, side effects)
};

/// A training step: ops in a topological order and the tensors between them. Immutable; made by GraphBuilder,
/// which guarantees that every op reads only resident tensors and outputs of earlier ops. Flat arrays: about
/// 60 bytes per op or tensor and 8 per input, plus the names. Reading from several threads is safe.
class Graph {
 public:
  std::string_view name() const { return name_; }
  /// What one unit of cost is: `ns`, `mac`, ...
  std::string_view cost_unit() const { return cost_unit_; }

  std::size_t op_count() const { return cost_.size(); }
  std::size_t tensor_count() const { return bytes_.size(); }
  /// Distinct pairs (producing op, using op).
  std::size_t edge_count() const { return edge_count_; }
  IdRange<OpId> ops() const { return IdRange<OpId>(op_count()); }
  IdRange<TensorId> tensors() const { return IdRange<TensorId>(tensor_count()); }

  std::string_view name(OpId op) const { return op_names_[op.index()]; }
  std::string_view kind(OpId op) const { return kinds_[kind_[op.index()]]; }
  Cost cost(OpId op) const { return cost_[op.index()]; }
  Bytes workspace(OpId op) const { return workspace_[op.index()]; }
  Phase phase(OpId op) const { return phase_[op.index()]; }
  bool recomputable(OpId op) const { return recomputable_[op.index()]; }
  /// Distinct, in the order given, resident ones included.
  std::span<const TensorId> inputs(OpId op) const { return inputs_[op.index()]; }
  std::span<const TensorId> outputs(OpId op) const { return outputs_[op.index()]; }

  std::string_view name(TensorId tensor) const { return tensor_names_[tensor.index()]; }
  Bytes bytes(TensorId tensor) const { return bytes_[tensor.index()]; }
  bool resident(TensorId tensor) const { return resident_[tensor.index()]; }
  bool output(TensorId tensor) const { return output_[tensor.index()]; }
  /// Nothing for a resident tensor.
  std::optional<OpId> producer(TensorId tensor) const {
    const OpId op = producer_[tensor.index()];
    return resident(tensor) ? std::nullopt : std::optional(op);
  }
  /// The ops that read the tensor, in order.
  std::span<const OpId> users(TensorId tensor) const { return users_[tensor.index()]; }

  /// Memory that is always in use: the resident tensors and reserved_bytes().
  Bytes fixed_bytes() const { return fixed_bytes_; }
  /// Fixed memory that no tensor of the graph stands for (optimizer state, the framework's own).
  Bytes reserved_bytes() const { return reserved_bytes_; }
  /// The cost of running every op once: no plan is cheaper.
  Cost keep_all_cost() const { return keep_all_cost_; }

  /// The same graph with other costs, one per op. An error where one is negative or their sum exceeds
  /// kLargestTotal.
  Result<Graph> with_costs(std::span<const Cost> costs, std::string cost_unit) const;

  bool operator==(const Graph&) const = default;

 private:
  friend class GraphBuilder;

  struct Names {
    Rows<char> rows;
    std::string_view operator[](std::size_t row) const {
      const std::span<const char> text = rows[row];
      return {text.data(), text.size()};
    }
    bool operator==(const Names&) const = default;
  };

  std::string name_, cost_unit_;
  Names op_names_, tensor_names_;
  std::vector<std::string> kinds_;
  std::vector<std::uint32_t> kind_;
  std::vector<Cost> cost_;
  std::vector<Bytes> workspace_;
  std::vector<Phase> phase_;
  std::vector<bool> recomputable_;
  Rows<TensorId> inputs_, outputs_;
  std::vector<Bytes> bytes_;
  std::vector<bool> resident_, output_;
  std::vector<OpId> producer_;
  Rows<OpId> users_;
  Bytes fixed_bytes_, reserved_bytes_;
  Cost keep_all_cost_;
  std::size_t edge_count_ = 0;
};

/// Collects tensors and ops and checks them all at the end.
///
///     GraphBuilder b("tiny");
///     TensorId x = b.add_tensor({.name = "x", .bytes = 4_KiB});
///     b.add_op({.name = "f", .cost = Cost{10}, .inputs = {}, .outputs = {x}});
///     Result<Graph> graph = std::move(b).build();
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::string cost_unit = "ns");

  /// Ids count up from 0 in the order of the calls. An op may name tensors that are added later.
  TensorId add_tensor(const TensorSpec& spec);
  OpId add_op(const OpSpec& spec);
  /// An op with one output tensor of the same name; returns that tensor.
  TensorId add_op_with_output(OpSpec spec, Bytes bytes);
  void set_name(std::string name) { graph_.name_ = std::move(name); }
  void set_cost_unit(std::string unit) { graph_.cost_unit_ = std::move(unit); }
  /// Replaces the costs of all ops so far; an error unless there is one per op. See whole_costs() for costs
  /// with fractions.
  Result<void> set_costs(std::vector<Cost> costs);
  /// Replaces Graph::reserved_bytes(), 0 at first.
  void set_reserved_bytes(Bytes bytes) { graph_.reserved_bytes_ = bytes; }

  /// Every inconsistency, in the order of tensors and then ops: unknown or later inputs, cycles, tensors
  /// without or with several producers, negative amounts, sums above kLargestTotal, an empty graph. At most
  /// `limit` of them.
  std::vector<Error> problems(std::size_t limit = 100) const;

  /// The graph, or one Error with the first few problems and their number. Linear time and
  /// memory.
  Result<Graph> build() &&;

 private:
  class Problems;
  void check_all(Problems& problems) const;
  void check_tensors(Problems& problems) const;
  void check_ops(Problems& problems) const;
  void check_order(Problems& problems) const;
  void check_totals(Problems& problems) const;
  std::vector<OpId> producers() const;
  std::string cycle(const std::vector<OpId>& producers) const;
  void finish();

  Graph graph_;
  std::unordered_map<std::string, std::uint32_t> kind_index_;
};

}  // namespace checkmate
#pragma GCC visibility pop
