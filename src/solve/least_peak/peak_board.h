#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "solve/common/solver.h"

namespace checkmate {

/// What searches for the least budget know together: the plan with the smallest peak, and what every plan
/// needs. All bytes include the graph's fixed ones. Thread-safe.
class PeakBoard {
 public:
  struct Goal {
    double gap = 0;                    ///< (peak - needed) / peak at which there is nothing left to do
    std::optional<Bytes> enough = {};  ///< neither is a plan smaller than that, nor a proof of more
  };
  /// Begins with keep-all and with the largest op.
  PeakBoard(const SearchContext& search, Goal goal);

  /// Takes the runs if they are a plan of the order with a smaller peak, or the same and cheaper.
  bool offer(std::vector<OpId> steps, std::string_view source);
  /// No plan of the order needs less.
  void raise(Bytes needed, std::string detail);

  bool done() const;
  const Goal& goal() const { return goal_; }
  Bytes peak() const;
  Bytes needed() const;
  Cost cost() const;
  std::vector<OpId> steps() const;
  std::string_view source() const;
  std::string detail() const;  ///< why so much is needed
  const SearchContext& search() const { return search_; }

 private:
  bool reached() const;

  const SearchContext& search_;
  Goal goal_;
  mutable std::mutex mutex_;
  std::vector<OpId> steps_;
  std::string_view source_ = "keep-all";
  std::string detail_;
  Bytes peak_, needed_;
  Cost cost_;
};

}  // namespace checkmate
