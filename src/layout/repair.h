#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "layout/problem.h"

namespace checkmate {

/// A local search for a placement within a capacity. Items that stick out are taken out; a move puts the
/// heaviest of those where it takes the least weight of others out, and makes what it takes out heavier, so
/// that a chain of moves does not go round in circles.
///
///     capacity ------------------        ------------------        d sticks out; in b's place it ends below
///               dddd                      bbb                       the capacity; b fits above c
///               aaaa  bbb          ->     cccc
///               aaaa  cccc                aaaa dddd
///
/// A move takes O(n) steps where most items conflict, else O(k log k) for k conflicts.
class Repair {
 public:
  using Units = Problem::Units;
  /// Both arguments must outlive this.
  Repair(const Problem& problem, const Conflicts& conflicts, std::uint64_t seed);

  /// Takes out of the placement what does not fit.
  void begin(const Placement& start, Units capacity);
  /// True as soon as everything is in place.
  bool move();
  /// Once everything is in place.
  Placement placement() const;
  /// How heavy the items are that are not in place, without what moves have added: the distance to go.
  std::int64_t weight_out() const { return weight_out_; }

 private:
  using Weight = std::int64_t;
  /// The lower or the upper end of a placed item.
  struct Edge {
    Units at;
    std::uint32_t first, last, item;
  };
  /// An edge of an item that conflicts with the one that is to be placed.
  struct Near {
    Units at;
    Weight weight;
    std::uint32_t item;
  };
  struct Spot {
    Units offset;
    Weight cost;  ///< of what has to go
  };
  class Sweep;

  std::uint32_t take_heaviest();
  void put(std::uint32_t item, Units offset);
  void take_out(std::uint32_t item);
  void gather(std::uint32_t item);
  Spot cheapest_spot(std::uint32_t item);

  const Problem& problem_;
  const Conflicts& conflicts_;
  Random random_;
  const bool
      dense_;  ///< most items conflict: keep all edges sorted instead of sorting those of the conflicts
  Units capacity_ = 0;
  std::vector<Weight> base_, weight_;
  std::vector<std::uint64_t> held_until_;  ///< the move up to which an item should not be taken out again
  std::vector<Units> offset_;              ///< Placement::kNowhere for those that are out
  std::vector<std::uint32_t> out_;
  Weight weight_out_ = 0;
  std::uint64_t moves_ = 0;
  std::vector<Edge> bottoms_, tops_;            ///< of all placed items, by `at`; when dense_
  std::vector<Near> near_bottoms_, near_tops_;  ///< of the conflicts, by `at`
};

}  // namespace checkmate
