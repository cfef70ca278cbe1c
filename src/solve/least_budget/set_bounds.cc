#include "solve/least_budget/set_bounds.h"

#include <algorithm>
#include <array>

namespace checkmate {
namespace {

/// How many members of a large set, the largest ones, are looked at in pairs and triples.
constexpr std::size_t kMostMembers = 12;

std::size_t pair_index(std::size_t low, std::size_t high) { return high * (high - 1) / 2 + low; }
std::size_t triple_index(std::size_t low, std::size_t middle, std::size_t high) {
  return high * (high - 1) * (high - 2) / 6 + middle * (middle - 1) / 2 + low;
}
/// How many sets of `width` there are among `values`; enough to compare with a limit, for huge counts as
/// well.
double count_of(std::size_t values, int width) {
  const auto n = static_cast<double>(values);
  return width == 2 ? n * (n - 1) / 2 : n * (n - 1) * (n - 2) / 6;
}

class LargestMembers {
 public:
  LargestMembers(const ValueSets& sets, std::span<const Value> set) : members_(set) {
    if (set.size() <= kMostMembers) return;
    std::vector<Value> by_bytes(set.begin(), set.end());
    std::nth_element(by_bytes.begin(), by_bytes.begin() + kMostMembers, by_bytes.end(),
                     [&](Value a, Value b) { return sets.bytes(a) > sets.bytes(b); });
    std::copy_n(by_bytes.begin(), kMostMembers, chosen_.begin());
    std::sort(chosen_.begin(), chosen_.end());
    members_ = chosen_;
  }
  std::span<const Value> get() const { return members_; }

 private:
  std::array<Value, kMostMembers> chosen_;
  std::span<const Value> members_;
};

}  // namespace

SetBounds::SetBounds(const SearchContext& search, const ValueSets& sets, std::int64_t floor,
                     std::size_t most_entries)
    : search_(search), sets_(sets), most_entries_(most_entries), floor_(floor), singles_(sets.value_count()) {
  for (Value value = 0; value < sets_.value_count(); ++value) singles_[value] = least(std::array{value});
}

std::int64_t SetBounds::operator()(std::span<const Value> set) const {
  std::int64_t bound = floor_;
  if (set.size() == 1 || width_ == 1) {
    for (const Value value : set) bound = std::max(bound, singles_[value]);
    return bound;
  }
  const LargestMembers largest(sets_, set);
  return set.size() == 2 || width_ == 2 ? of_pairs(largest.get()) : of_triples(largest.get());
}

std::int64_t SetBounds::of_pairs(std::span<const Value> set) const {
  std::int64_t bound = floor_;
  for (std::size_t high = 1; high < set.size(); ++high) {
    for (std::size_t low = 0; low < high; ++low)
      bound = std::max(bound, pairs_[pair_index(set[low], set[high])]);
  }
  return bound;
}

std::int64_t SetBounds::of_triples(std::span<const Value> set) const {
  std::int64_t bound = floor_;
  for (std::size_t high = 2; high < set.size(); ++high) {
    for (std::size_t middle = 1; middle < high; ++middle) {
      const std::size_t row = triple_index(0, set[middle], set[high]);
      for (std::size_t low = 0; low < middle; ++low) bound = std::max(bound, triples_[row + set[low]]);
    }
  }
  return bound;
}

std::int64_t SetBounds::least(std::span<const Value> set) {
  std::int64_t best = ValueSets::Before::kNever;
  for (std::size_t i = set.size(); i-- > 0 && best > floor_;) {
    const OpId op = sets_.maker(set[i]);
    if (i + 1 < set.size() && sets_.maker(set[i + 1]) == op) continue;
    sets_.before(set, op, before_);
    if (before_.memory < best) best = std::min(best, std::max(before_.memory, (*this)(before_.values)));
  }
  return std::max(best, floor_);
}

bool SetBounds::widen(std::int64_t floor) {
  if (width_ == 3 || count_of(sets_.value_count(), width_ + 1) > static_cast<double>(most_entries_))
    return false;
  floor_ = std::max(floor_, floor);
  ++width_;
  const bool filled = width_ == 2 ? fill_pairs() : fill_triples();
  if (!filled) --width_;
  return filled;
}

bool SetBounds::fill_pairs() {
  const auto values = static_cast<Value>(sets_.value_count());
  pairs_.assign(pair_index(0, values), 0);
  for (Value high = 0; high < values; ++high) {
    if (search_.stopped()) return false;
    singles_[high] = least(std::array{high});
    for (Value low = 0; low < high; ++low) pairs_[pair_index(low, high)] = least(std::array{low, high});
  }
  return true;
}

bool SetBounds::fill_triples() {
  const auto values = static_cast<Value>(sets_.value_count());
  triples_.assign(triple_index(0, 0, values), 0);
  for (Value high = 0; high < values; ++high) {
    singles_[high] = least(std::array{high});
    for (Value middle = 0; middle < high; ++middle) {
      if (middle % 16 == 0 && search_.stopped()) return false;
      pairs_[pair_index(middle, high)] = least(std::array{middle, high});
      for (Value low = 0; low < middle; ++low)
        triples_[triple_index(low, middle, high)] = least(std::array{low, middle, high});
    }
  }
  return true;
}

}  // namespace checkmate
