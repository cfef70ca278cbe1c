#pragma once

#include <cstdint>

#include "solve/common/solver.h"

namespace checkmate {

/// The seconds since an annealing began. With a limit of moves, the seconds that the moves would take at a
/// fixed rate, so that nothing depends on the machine's speed.
class MoveClock {
 public:
  explicit MoveClock(const SearchContext& search)
      : search_(search),
        start_(search.by_moves() ? 0 : search.seconds()),
        total_(search.by_moves() ? seconds_of(search.moves()) : search.end() - start_) {}

  double seconds(std::uint64_t moves) const {
    return search_.by_moves() ? seconds_of(moves) : search_.seconds() - start_;
  }
  double total() const { return total_; }

 private:
  static double seconds_of(std::uint64_t moves) {
    constexpr double kSecondsPerMove = 2e-6;
    return static_cast<double>(moves) * kSecondsPerMove;
  }

  const SearchContext& search_;
  double start_, total_;
};

}  // namespace checkmate
