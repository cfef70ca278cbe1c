#include "layout/greedy.h"

#include <algorithm>
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

Placement place_in_order(const Problem& problem, const Conflicts& conflicts,
                         std::span<const std::uint32_t> order, Fit fit) {
  constexpr Units kNotPlaced = -1;
  Placement placement{std::vector<Units>(problem.size(), kNotPlaced), 0};
  std::vector<std::pair<Units, Units>> taken;  // from, to
  for (const std::uint32_t item : order) {
    taken.clear();
    for (const std::uint32_t other : conflicts.of(item)) {
      const Units offset = placement.offsets[other];
      if (offset != kNotPlaced) taken.emplace_back(offset, offset + problem.items[other].size);
    }
    std::sort(taken.begin(), taken.end());
    const Units size = problem.items[item].size;
    Units top = 0, offset = kNotPlaced, tightest = std::numeric_limits<Units>::max();
    for (const auto& [from, to] : taken) {
      if (from - top >= size && from - top < tightest) {
        offset = top;
        tightest = from - top;
        if (fit == Fit::kLowest) break;
      }
      top = std::max(top, to);
    }
    if (offset == kNotPlaced) offset = top;
    placement.offsets[item] = offset;
    placement.size = std::max(placement.size, offset + size);
  }
  return placement;
}

std::vector<std::vector<std::uint32_t>> greedy_orders(const Problem& problem) {
  using Item = Problem::Item;
  std::vector<std::uint32_t> fullest_first;
  {
    std::vector<Units> fullest(problem.size());
    for (std::size_t i = 0; i < problem.size(); ++i) fullest[i] = problem.load_over(problem.items[i]);
    fullest_first.resize(problem.size());
    std::iota(fullest_first.begin(), fullest_first.end(), 0U);
    std::stable_sort(fullest_first.begin(), fullest_first.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(fullest[a], problem.items[a].size) > std::pair(fullest[b], problem.items[b].size);
    });
  }
  return {falling(problem, [](const Item& i) { return i.size; }),
          falling(problem, [](const Item& i) { return static_cast<double>(i.size) * (i.last - i.first); }),
          falling(problem, [](const Item& i) { return i.last - i.first; }), std::move(fullest_first)};
}

}  // namespace checkmate
