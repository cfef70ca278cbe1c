#pragma once

#include <optional>
#include <vector>

#include "solve/solver.h"

namespace checkmate {

/// Takes the plans that a baseline tries; keeps the cheapest that fits and the smallest peak of all.
class Candidates {
 public:
  explicit Candidates(const Search& search) : search_(search) {}

  /// True when the plan fits. Nothing (a stopped expansion) is not a plan.
  bool offer(std::optional<std::vector<OpId>> steps);
  Outcome outcome() &&;

 private:
  const Search& search_;
  Outcome best_;
  Cost best_cost_;
};

}  // namespace checkmate
