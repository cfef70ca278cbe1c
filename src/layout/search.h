#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "layout/greedy.h"
#include "layout/problem.h"
#include "layout/repair.h"
#include "layout/tree_search.h"

namespace checkmate {

/// All that looks for a small placement, one after the other, with the best one so far and the clock.
class Search {
 public:
  using Units = Problem::Units;
  /// All but the token must outlive this.
  Search(const Problem& problem, const LayoutOptions& options, std::stop_token stop)
      : problem_(problem), options_(options), stop_(std::move(stop)) {}

  Placement run();
  bool optimal() const { return best_.size <= bound_; }
  std::uint64_t moves() const { return moves_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  /// The searches for some of the items, which go on from the best placement of those.
  struct Level {
    Level(Problem level_problem, std::uint64_t seed);
    Problem problem;
    Conflicts conflicts;
    Repair repair;
    std::optional<TreeSearch> tree;  ///< unless there are too many items
    Placement best;
    Units refuted = 0;       ///< the tree search found nothing of this size, this time round
    std::uint64_t round{0};  ///< each with more nodes
    double share = 0.5;      ///< of the excess that the next round tries to do without
    int failures = 0;        ///< rounds without success since the last one with
  };

  void place_greedily(Level& level);
  void improve_all(Level& all);
  void improve_large_first(Level& large, Level& all);
  bool tree_round(Level& level);
  bool repair_round(Level& level, Units floor);
  void fill_in(const Level& large, const Level& all);
  void offer(Placement placement);
  Units goal() const;  ///< the size that is small enough
  Bytes bytes(Units units) const { return options_.alignment * units; }
  bool finished() const;

  const Problem& problem_;
  const LayoutOptions& options_;
  std::stop_token stop_;
  Clock::time_point start_ = Clock::now();
  Placement best_;
  Units bound_ = problem_.peak;
  std::uint64_t moves_ = 0;
};

}  // namespace checkmate
