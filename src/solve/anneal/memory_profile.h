#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/random.h"

namespace checkmate {

/// The memory at every position of a plan, and by how much it is over the budget, under many small changes.
///
/// Positions live in blocks, small arrays that grow and shrink on their own; over the blocks stands a binary
/// tree that knows the largest, the least and the sum of the values below each node. To add to a whole block
/// is O(1) wherever the budget is not between its least and its largest value:
///
///           [max 9 min 2]               budget 10: adding 1 to all of it touches the root alone,
///        [max 9 min 3] [max 5 min 2]    adding 2 goes down the left side, where 9 passes the budget.
///        |3 7 9| |4 4| |5 2 2| |3 4|
///
/// Values are whole numbers below 2^53 and so exact. A position over the budget counts by its excess and a
/// fixed penalty more, so that many small excesses are not cheaper than they should be.
///
/// add: O(block + log blocks) outside of the region where the budget lies between values. open, close:
/// O(block). Changes are gathered; what reads them settles them first.
class MemoryProfile {
 public:
  struct Place {
    std::uint32_t block = 0;
    std::uint32_t slot = 0;
  };

  MemoryProfile(double budget, double penalty) : budget_(budget), penalty_(penalty) {}

  void reset(std::vector<std::vector<double>> blocks);
  /// A new position before the place, with this value.
  void open(Place place, double value);
  void close(Place place);
  /// From `first` up to, not including, `end`; nothing when `end` is not after it.
  void add(Place first, Place end, double amount);

  double at(Place place) const;
  /// The sum of excess and penalty over all positions; exactly 0 when all fit.
  double overflow() {
    settle();
    return nodes_[1].over;
  }
  /// What overflow() would change by if `amount`, of either sign, were added.
  double overflow_change(Place first, Place end, double amount);

  /// The position of the largest value, if it is over the budget.
  std::optional<Place> worst();
  /// Some position over the budget.
  std::optional<Place> any_over(Random& random);

 private:
  struct Node {
    double most, least, sum, over;
    double pending = 0;  // added to all below, but only noted here; of a leaf: to be added to its values
    std::uint32_t count = 0;
  };

  void touch(std::uint32_t block);
  void settle();
  void refresh(std::uint32_t block);
  void apply(std::size_t node, double amount);
  void push_down(std::size_t node);
  void pull_up(std::size_t node);
  void add_blocks(std::size_t node, std::uint32_t low, std::uint32_t high, std::uint32_t first,
                  std::uint32_t end, double amount);
  struct Change {
    Place first, end;
    double amount;
  };
  double change_below(std::size_t node, std::uint32_t low, std::uint32_t high, double pending,
                      const Change& change) const;

  double budget_;
  double penalty_;
  std::vector<std::vector<double>> blocks_;
  std::uint32_t leaves_ = 1;  // a power of two; block b is node leaves_ + b, the root is 1
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace checkmate
