#pragma once

#include <optional>
#include <set>
#include <vector>

#include "solve/common/solver.h"

namespace checkmate {

/// Takes the plans that a baseline tries; keeps the cheapest that fits and the smallest peak of all.
class Candidates {
 public:
  explicit Candidates(const SearchContext& search) : search_(search) {}

  /// True when the plan fits. Nothing (a stopped expansion) is not a plan.
  bool offer(std::optional<std::vector<OpId>> steps);
  /// The same, but a plan that fits is pruned first: memory that is left over saves recomputations.
  bool offer_pruned(std::optional<std::vector<OpId>> steps);
  /// Of the plans that fit.
  std::optional<Cost> best_cost() const { return best_.steps ? std::optional(best_cost_) : std::nullopt; }
  Outcome outcome() &&;

 private:
  const SearchContext& search_;
  Outcome best_;
  Cost best_cost_;
  std::set<std::vector<OpId>> pruned_;
};

}  // namespace checkmate
