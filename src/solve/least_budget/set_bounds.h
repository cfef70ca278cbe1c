#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/common/solver.h"
#include "solve/least_budget/value_sets.h"

namespace checkmate {

/// Lower bounds on the memory that it takes to get a set of values into memory at once, starting from
/// nothing, by looking at its subsets of one, two or three. For such a subset S
///
///     G(S) = min over ops p that make one of S, run last, of
///            max(bytes(S + inputs(p) + outputs(p)) + workspace(p), G of the subsets of S - outputs(p) +
///            inputs(p)).
///
/// A subset needs no more than its set, so G of the largest subset is a bound for the set; by induction over
/// the ops, for every plan.
class SetBounds {
 public:
  /// Nothing below `floor` is distinguished. Tables of singles; of pairs and triples where they have at most
  /// `most_entries` entries of 8 bytes. Time O(entries x inputs^width); stopped early, what is known is kept.
  explicit SetBounds(const SearchContext& search, const ValueSets& sets, std::int64_t floor,
                     std::size_t most_entries);

  /// Computes the next wider table; false if it would be too large, or the search is stopped.
  bool widen(std::int64_t floor);
  int width() const { return width_; }

  /// `set` is in order. At least `floor`.
  std::int64_t operator()(std::span<const Value> set) const;

 private:
  std::int64_t least(std::span<const Value> set);
  std::int64_t of_pairs(std::span<const Value> set) const;
  std::int64_t of_triples(std::span<const Value> set) const;
  bool fill_pairs();
  bool fill_triples();

  const SearchContext& search_;
  const ValueSets& sets_;
  std::size_t most_entries_;
  std::int64_t floor_;
  int width_ = 1;
  std::vector<std::int64_t> singles_, pairs_, triples_;  // by their largest member first
  ValueSets::Before before_;
};

}  // namespace checkmate
