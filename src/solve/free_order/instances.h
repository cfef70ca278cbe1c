#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "solve/common/search_graph.h"
#include "solve/free_order/overflow.h"

namespace checkmate {

/// A sequence of runs in which every run knows which earlier runs it reads from. What it reads stays in
/// memory until then, and an unread output as long as its run.
///
///     position    0    1    2    3    4    5
///     op          a    b    c    a    d   end       d reads b from 1 and a from 3; a from 0 is there until 2
///     reads            a0   a0       b1,a3  d4
///
/// As a plan, each step reads the latest run before it instead. That needs no more memory anywhere: a tensor
/// in memory there is here, too, at least once. So what fits here fits as a plan, and at the same cost.
///
/// The memory at each position, the cost and the overflow are always up to date and, being sums of whole
/// numbers, exact. Insertion and erasure take time linear in the runs behind them, with a small constant.
class Instances {
 public:
  using Instance = std::uint32_t;  ///< a run of an op; it keeps its number while others come, go and move
  using Value = std::uint32_t;     ///< an output of an instance
  using Position = std::uint32_t;

  explicit Instances(const SearchGraph& graph);

  /// Replaces everything by these runs, each reading from the latest before it, without those that nobody
  /// reads and that are not the only run of their op.
  void load(std::span<const OpId> steps);
  std::vector<OpId> steps() const;

  std::uint32_t size() const { return size_; }  ///< runs, without the end
  Instance at(Position position) const { return sequence_[position]; }
  Position position(Instance instance) const { return position_[instance]; }
  std::uint32_t op(Instance instance) const { return nodes_[instance].op; }
  /// One for each input of its op.
  std::span<const Value> inputs(Instance instance) const {
    const Node& node = nodes_[instance];
    return {inputs_.data() + node.first_input, node.input_count};
  }
  /// One for each output of its op, counting up.
  Value first_value(Instance instance) const { return nodes_[instance].first_value; }
  std::uint32_t value_count(Instance instance) const { return nodes_[instance].value_count; }
  Instance maker(Value value) const { return values_[value].maker; }
  double bytes(Value value) const { return values_[value].bytes; }
  std::span<const Instance> consumers(Value value) const { return values_[value].consumers; }
  std::span<const Instance> runs(std::uint32_t op) const { return runs_[op]; }     ///< in no order
  std::span<const std::uint32_t> repeated() const { return repeated_; }            ///< ops with several runs
  bool read(Instance instance) const;                                              ///< by anyone
  bool placed(Instance instance) const { return position_[instance] != kNobody; }  ///< not erased
  std::size_t instance_count() const { return nodes_.size(); }                     ///< numbers are below this
  /// Which input of the consumer the value is.
  std::uint32_t input_of(Instance consumer, Value value) const;
  /// Where it ends; its own run if it is not read.
  Position last_use(Value value) const {
    const ValueState& state = values_[value];
    return position_[state.consumers.empty() ? state.maker : state.consumers.front()];
  }
  /// The latest run of the op before the position; kNobody where there is none.
  Instance latest_before(std::uint32_t op, Position position) const;

  double cost() const { return cost_; }
  double memory(Position position) const { return memory_[position]; }
  /// The penalties of all positions.
  double overflow() const { return overflow_; }
  bool fits() const { return overflow_ < 0.5 * toll_; }
  double penalty(double memory) const { return penalty_.of(memory); }
  /// The overflow that would come with the value's staying until just before the position.
  double extension_overflow(Value value, Position position) const;
  /// The overflow that would go with the value's not being there from `first` until just before `end`.
  double relief(Value value, Position first, Position end) const;

  // Changes that undo() takes back, latest first, down to what a mark() remembers. commit() forgets them.
  // Instances that are erased keep their number until then.

  /// A run that reads the latest runs before the position, or kNobody where an input has none.
  Instance insert(std::uint32_t op, Position position);
  /// An instance that is not read.
  void erase(Instance instance);
  void rebind(Instance consumer, std::uint32_t input, Value to);
  std::size_t mark() const { return log_.size(); }
  void undo(std::size_t mark = 0);
  void commit();

  // Changes of the order alone, not between another change and its undo() or commit().

  struct Room {
    Position first, last;
  };
  /// Where the instance may stand while all others keep their order.
  Room room(Instance instance) const;
  /// Moves the instance within its room if that adds at most `limit` to the overflow; whether it did.
  bool relocate(Instance instance, Position to, double limit);
  /// Runs the positions from `first` on in the given order, which must be runnable and a permutation of what
  /// is there, if that adds at most `limit` to the overflow; whether it did.
  bool reorder(Position first, std::span<const Instance> order, double limit);

  static constexpr Instance kNobody = UINT32_MAX;

 private:
  struct Node {
    double own;  // as of its op
    std::uint32_t op, first_input, input_count, first_value, value_count;
  };
  struct ValueState {
    double bytes;
    Instance maker;
    std::vector<Instance> consumers;  // the last of them in front, the others in no order
  };
  struct Change {
    enum class Kind : std::uint8_t { kInsert, kErase, kRebind } kind;
    Instance instance;
    std::uint32_t place;  // erase: the position; rebind: the input
    Value from = 0;
  };

  Position last_use_without(Value value, Instance ignored) const;
  double own(Position position) const { return nodes_[sequence_[position]].own; }
  /// Bytes that are there before and after the instant at which the position begins.
  double carried(Position position) const { return memory_[position] - own(position); }
  std::vector<std::uint32_t> useful(std::span<const OpId> steps) const;
  void clear();
  Instance take(std::uint32_t op);
  void recompute_memory();
  void add(Position first, Position last, double bytes);
  void link(Instance instance, Position position);
  void unlink(Instance instance);
  void bind(Instance consumer, std::uint32_t input, Value to);
  void attach(Value value, Instance consumer);
  void detach(Value value, Instance consumer);
  void bring_last_to_front(Value value);
  void count_run(Instance instance);
  void discount_run(Instance instance);
  double kept_bytes(Instance instance) const;
  void sweep_later(Instance instance, Position to);
  void sweep_earlier(Instance instance, Position to);
  bool sweep(Position first, std::span<const Instance> order, double most);

  const SearchGraph& graph_;
  double toll_;
  Overflow penalty_;
  std::uint32_t size_ = 0;
  double cost_ = 0;
  double overflow_ = 0;
  std::vector<Node> nodes_;
  std::vector<Position> position_;
  std::vector<Value> inputs_;
  std::vector<ValueState> values_;
  std::vector<std::vector<Instance>> runs_, spares_;   // per op
  std::vector<std::uint32_t> repeated_, repeated_at_;  // ops with several runs; per op, its place there
  std::vector<Instance> sequence_;
  std::vector<double> memory_;
  std::vector<double> tried_;                           // what memory_ would be there
  std::vector<std::pair<Value, Instance>> tried_last_;  // values that end there, and with whom
  std::vector<Instance> erased_;
  std::vector<Change> log_;
};

}  // namespace checkmate
