#pragma once

#include <cstdint>
#include <vector>

#include "solve/common/lifetimes.h"
#include "solve/common/solver.h"

namespace checkmate {

/// From the first run of op `moment`, not included, to the first run of op `end`, included; `end` is the
/// number of ops where it goes on to the end of the plan.
struct Interval {
  std::uint32_t moment;
  std::uint32_t end;
};

/// Bounds what any plan of the fixed order recomputes in an interval.
///
/// While the moment's op first runs, it is in memory with its inputs, outputs and workspace. Of the other
/// tensors from before it, each that a first run of the interval uses is in memory too, or its op runs again
/// in the interval. So at least the bytes that do not fit belong to ops that run again. Bounds of disjoint
/// intervals add up.
class IntervalBounds {
 public:
  explicit IntervalBounds(const SearchContext& search, const Lifetimes& lifetimes);

  struct Bound {
    std::int64_t cost = 0;
    bool infeasible = false;  ///< even with everything dropped that can be
    std::int64_t least = 0;   ///< when infeasible: what this moment needs, without the fixed bytes
  };
  /// Linear in the ops and edges up to the interval's end, apart from a sort of the ops in question.
  Bound of(Interval interval);

 private:
  struct Item {  // an op that may run again in the interval
    std::int64_t cost;
    std::int64_t bytes;  // of its needed tensors
  };

  void collect(Interval interval);
  void need(std::uint32_t tensor, std::uint32_t moment);
  bool there(std::uint32_t tensor) const { return own_[tensor] == stamp_; }
  bool needed(std::uint32_t tensor) const { return needed_[tensor] == stamp_; }

  std::int64_t knapsack() const;
  std::int64_t cover(std::int64_t excess, std::size_t without) const;
  std::size_t split_item() const;  // of items_: the one that the excess ends in
  std::int64_t with_ancestors(std::uint32_t moment) const;
  double best_price(std::uint32_t moment) const;
  template <class Prices>
  class Flow;

  const SearchContext& search_;
  const Lifetimes& lifetimes_;
  std::int64_t capacity_;
  std::vector<std::uint32_t> own_, needed_;  // per tensor: the stamp of the latest interval where it is so
  std::uint32_t stamp_ = 0;
  std::vector<Item> items_;  // by cost per byte
  std::int64_t room_ = 0;    // for the items: what neither the moment's op nor ops that run once need
  std::int64_t excess_ = 0;  // bytes of the items beyond that
};

}  // namespace checkmate
