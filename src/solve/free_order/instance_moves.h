#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "solve/free_order/instances.h"

namespace checkmate {

/// The random moves of the free-order search: what they try and how they are drawn. Whether a move is worth
/// it is the caller's to say, by limits.
class InstanceMoves {
 public:
  InstanceMoves(const SearchGraph& graph, Instances& state, Random& random)
      : graph_(graph), state_(state), random_(random) {}

  /// Changes the order of the runs alone, if that adds at most `limit` to the overflow; whether it did.
  bool try_order(double limit);

  /// Changes which ops run again and where. Where it returns false, there was nothing to do, or the cost
  /// would pass the limit; the changes so far are then the caller's to undo. `price` is the cost at which one
  /// unit of overflow is as bad.
  bool change_runs(double price, double cost_limit);

 private:
  using Instance = Instances::Instance;
  using Position = Instances::Position;
  using Value = Instances::Value;
  struct Need {
    std::uint32_t input;
    Instance source;
    double overflow;  // of keeping it instead of making it again
  };
  struct Use {
    Value value;
    Instance consumer;
  };

  bool relocate(double limit);
  bool move_cone(double limit);
  bool move_descendants(Position from, std::uint32_t window, std::size_t most, double limit);
  bool move_ancestors(Position from, std::uint32_t window, std::size_t most, double limit);
  bool reads_marked(Instance instance) const;
  bool read_by_marked(Instance instance) const;

  bool remove(Instance instance);
  bool remove_some();
  void remove_if_unread(Instance instance);
  bool split_some(bool anywhere);
  bool split(const Use& use, bool anywhere);
  Instance make(std::uint32_t op, Position position);
  bool remake_input(Instance instance, const Need& need);
  void hand_over(Instance from, Instance to);
  bool repair();
  bool swap();
  bool drop_at(Position position, std::size_t most_candidates);
  void find_idle(Position position, std::size_t most);
  Position worst() const;
  Position some_overfull();

  const SearchGraph& graph_;
  Instances& state_;
  Random& random_;

  double price_ = 0;
  double cost_limit_ = 0;
  double make_limit_ = 0;        // the same, for what one split makes
  bool only_split_ = false;      // nothing comes after the split that would make more of it
  double appetite_ = 0;          // how likely an input is made again rather than kept
  std::size_t inputs_left_ = 0;  // that one split may make again
  std::vector<Need> needs_;
  std::vector<Use> idle_;

  std::vector<std::uint64_t> marks_;  // per instance
  std::uint64_t mark_ = 0;
  std::vector<Instance> ahead_, behind_;
};

}  // namespace checkmate
