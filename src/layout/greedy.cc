#include "layout/greedy.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace checkmate {
namespace {

using Units = Problem::Units;

/// Free memory between 0 and the highest address used so far.
class FreeList {
 public:
  Units take(Units size) {
    const auto tightest = by_width_.lower_bound({size, 0});
    if (tightest == by_width_.end()) return grow(size);
    const auto [width, offset] = *tightest;
    remove(gaps_.find(offset));
    if (width > size) add(offset + size, width - size);
    return offset;
  }

  void give_back(Units offset, Units size) {
    const auto above = gaps_.lower_bound(offset);
    if (above != gaps_.begin()) {
      const auto below = std::prev(above);
      if (below->first + below->second == offset) {
        offset = below->first;
        size += below->second;
        remove(below);
      }
    }
    if (above != gaps_.end() && above->first == offset + size) {
      size += above->second;
      remove(above);
    }
    add(offset, size);
  }

  Units top() const { return top_; }

 private:
  using Gaps = std::map<Units, Units>;  // offset, width; no two touch

  void add(Units offset, Units width) {
    gaps_.emplace(offset, width);
    by_width_.emplace(width, offset);
  }
  void remove(Gaps::iterator gap) {
    by_width_.erase({gap->second, gap->first});
    gaps_.erase(gap);
  }
  Units grow(Units size) {
    Units offset = top_;
    if (!gaps_.empty() && gaps_.rbegin()->first + gaps_.rbegin()->second == top_) {
      offset = gaps_.rbegin()->first;
      remove(std::prev(gaps_.end()));
    }
    top_ = offset + size;
    return offset;
  }

  Gaps gaps_;
  std::set<std::pair<Units, Units>> by_width_;
  Units top_ = 0;
};

/// The order of falling keys.
template <class Key>
std::vector<std::uint32_t> falling(const Problem& problem, const Key& key) {
  std::vector<std::uint32_t> order(problem.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key(problem.items[a]) > key(problem.items[b]);
  });
  return order;
}

/// The largest load while an item lives: the maxima of all ranges of 2^k sections, two of which cover any
/// range.
class LargestLoad {
 public:
  explicit LargestLoad(const Problem& problem) : maxima_{problem.load} {
    for (std::size_t half = 1; 2 * half <= problem.load.size(); half *= 2) {
      const std::vector<Units>& halves = maxima_.back();
      std::vector<Units> wholes(halves.size() - half);
      for (std::size_t i = 0; i < wholes.size(); ++i) wholes[i] = std::max(halves[i], halves[i + half]);
      maxima_.push_back(std::move(wholes));
    }
  }
  Units over(const Problem::Item& item) const {
    const std::uint32_t width = std::bit_floor(item.last - item.first);
    const std::vector<Units>& maxima = maxima_[static_cast<std::size_t>(std::countr_zero(width))];
    return std::max(maxima[item.first], maxima[item.last - width]);
  }

 private:
  std::vector<std::vector<Units>> maxima_;
};

/// What has been placed so far, and the gaps that it leaves.
class Placed {
 public:
  Placed(const Problem& problem, const Conflicts& conflicts, Placement start)
      : problem_(problem), conflicts_(conflicts), placement_(std::move(start)) {
    placement_.offsets.resize(problem.size(), Placement::kNowhere);
    if (!conflicts_.dense()) return;
    for (std::uint32_t item = 0; item < problem.size(); ++item) {
      if (has(item)) all_.push_back(taken_by(item));
    }
    std::sort(all_.begin(), all_.end());
  }

  bool has(std::uint32_t item) const { return placement_.offsets[item] != Placement::kNowhere; }

  Units gap_for(std::uint32_t item, Fit fit) {
    if (!conflicts_.dense()) {
      all_.clear();
      for (const std::uint32_t other : conflicts_.of(item)) {
        if (has(other)) all_.push_back(taken_by(other));
      }
      std::sort(all_.begin(), all_.end());
    }
    const auto [size, first, last] = problem_.items[item];
    Units top = 0, offset = Placement::kNowhere, tightest = std::numeric_limits<Units>::max();
    for (const Taken& taken : all_) {
      if (taken.first >= last || first >= taken.last) continue;
      const Units gap = taken.from - top;
      if (gap >= size && gap < tightest) {
        offset = top;
        tightest = gap;
        if (fit == Fit::kLowest) break;
      }
      top = std::max(top, taken.to);
    }
    return offset == Placement::kNowhere ? top : offset;
  }

  void put(std::uint32_t item, Units offset) {
    placement_.offsets[item] = offset;
    const Taken taken = taken_by(item);
    placement_.size = std::max(placement_.size, taken.to);
    if (conflicts_.dense()) all_.insert(std::upper_bound(all_.begin(), all_.end(), taken), taken);
  }

  Placement placement() && { return std::move(placement_); }

 private:
  struct Taken {
    Units from, to;
    std::uint32_t first, last;
    bool operator<(const Taken& other) const { return from < other.from; }
  };
  Taken taken_by(std::uint32_t item) const {
    const auto [size, first, last] = problem_.items[item];
    const Units offset = placement_.offsets[item];
    return {offset, offset + size, first, last};
  }

  const Problem& problem_;
  const Conflicts& conflicts_;
  Placement placement_;
  std::vector<Taken> all_;  // by offset; where conflicts are few, only those of the item in hand
};

}  // namespace

Placement place_by_time(const Problem& problem) {
  const auto births = falling(problem, [](const Problem::Item& item) {
    return std::pair(-static_cast<std::int64_t>(item.first), item.last);
  });
  const auto deaths = falling(problem, [](const Problem::Item& item) { return -std::int64_t{item.last}; });
  Placement placement{std::vector<Units>(problem.size()), 0};
  FreeList memory;
  auto death = deaths.begin();
  for (const std::uint32_t item : births) {
    for (; problem.items[*death].last <= problem.items[item].first; ++death)
      memory.give_back(placement.offsets[*death], problem.items[*death].size);
    placement.offsets[item] = memory.take(problem.items[item].size);
  }
  placement.size = memory.top();
  return placement;
}

std::optional<Placement> place_in_order(const Problem& problem, const Conflicts& conflicts,
                                        std::span<const std::uint32_t> order, Fit fit, Placement start,
                                        const std::function<bool()>& stopped) {
  constexpr std::size_t kItemsPerLook = 256;
  Placed placed(problem, conflicts, std::move(start));
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % kItemsPerLook == 0 && stopped()) return std::nullopt;
    if (!placed.has(order[i])) placed.put(order[i], placed.gap_for(order[i], fit));
  }
  return std::move(placed).placement();
}

std::vector<std::uint32_t> by_size(const Problem& problem) {
  return falling(problem, [](const Problem::Item& item) { return item.size; });
}

std::vector<std::vector<std::uint32_t>> greedy_orders(const Problem& problem) {
  using Item = Problem::Item;
  const LargestLoad largest_load(problem);
  return {by_size(problem),
          falling(problem, [](const Item& i) { return static_cast<double>(i.size) * (i.last - i.first); }),
          falling(problem, [](const Item& i) { return i.last - i.first; }),
          falling(problem, [&](const Item& i) { return std::pair(largest_load.over(i), i.size); })};
}

}  // namespace checkmate
