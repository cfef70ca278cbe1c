#include "layout/tree_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace checkmate {
namespace {

constexpr Problem::Units kMost = std::numeric_limits<Problem::Units>::max();

/// What to place first where several items have the same floor: the higher, the sooner.
double preference(const Problem& problem, const Problem::Item& item, std::uint64_t order) {
  const double life = item.last - item.first;
  const double size = static_cast<double>(item.size) / static_cast<double>(problem.peak);
  switch (order) {
    case 0:
      return life * 1e6 + size;  // the longest first, among those the largest
    case 1:
      return life * size;
    case 2:
      return life * static_cast<double>(*std::max_element(problem.load.begin() + item.first,
                                                          problem.load.begin() + item.last));
    default:
      return size;
  }
}

}  // namespace

TreeSearch::TreeSearch(const Problem& problem, const Conflicts& conflicts, std::uint64_t seed)
    : problem_(problem), random_(seed) {
  for (std::uint32_t i = 0; i < problem.size(); ++i) conflicts_.push(conflicts.of(i));
  living_ = Rows<std::uint32_t>::by_row(problem.section_count, [&](const auto& add) {
    for (std::uint32_t i = 0; i < problem.size(); ++i) {
      for (std::uint32_t s = problem.items[i].first; s < problem.items[i].last; ++s) add(s, i);
    }
  });
}

TreeSearch::Outcome TreeSearch::run(Units capacity, std::uint64_t most_nodes,
                                    const std::function<bool()>& stopped) {
  capacity_ = capacity;
  needed_ = kMost;
  nodes_ = 0;
  most_nodes_ = most_nodes;
  stopped_ = &stopped;
  offset_.assign(problem_.size(), Placement::kNowhere);
  floor_.assign(problem_.size(), 0);
  rest_ = problem_.load;
  witness_.assign(problem_.section_count, 0);
  trail_.clear();
  rank_items();
  ++runs_;
  std::vector<std::uint32_t> items(problem_.size());
  std::iota(items.begin(), items.end(), 0U);
  std::stable_sort(items.begin(), items.end(), [&](std::uint32_t a, std::uint32_t b) {
    return problem_.items[a].first < problem_.items[b].first;
  });
  return search(items, {});
}

Placement TreeSearch::placement() const {
  Placement placement{offset_, 0};
  for (std::size_t i = 0; i < problem_.size(); ++i)
    placement.size = std::max(placement.size, offset_[i] + problem_.items[i].size);
  return placement;
}

void TreeSearch::rank_items() {
  constexpr std::array kNoise = {0.0, 0.5, 0.2, 1.5};
  const double noise = kNoise[runs_ / kOrders % kNoise.size()];
  std::vector<std::pair<double, std::uint32_t>> keys;
  for (std::uint32_t i = 0; i < problem_.size(); ++i) {
    const double key = preference(problem_, problem_.items[i], runs_ % kOrders);
    keys.emplace_back(-key * (1 + noise * random_.share()), i);
  }
  std::sort(keys.begin(), keys.end());
  rank_.resize(problem_.size());
  for (std::uint32_t rank = 0; rank < keys.size(); ++rank) rank_[keys[rank].second] = rank;
}

/// Items in the order of their first sections. Splits them where none lives across.
TreeSearch::Outcome TreeSearch::search(Items items, Last last) {
  std::vector<Items> parts;
  std::size_t begin = 0;
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > begin && problem_.items[items[i]].first >= end) {
      parts.push_back(items.subspan(begin, i - begin));
      begin = i;
    }
    end = std::max(end, problem_.items[items[i]].last);
  }
  if (begin < items.size()) parts.push_back(items.subspan(begin));
  // One part without a solution ends them all, and small ones tell soonest.
  std::stable_sort(parts.begin(), parts.end(), [](Items a, Items b) { return a.size() < b.size(); });
  const std::size_t mark = trail_.size();
  for (const Items part : parts) {
    const Outcome outcome = search_connected(part, last);
    if (outcome == Outcome::kFound) continue;
    undo_to(mark);
    return outcome;
  }
  return Outcome::kFound;
}

TreeSearch::Outcome TreeSearch::search_connected(Items items, Last last) {
  constexpr std::uint64_t kNodesPerLook = 256;
  if (++nodes_ >= most_nodes_ || (nodes_ % kNodesPerLook == 0 && (*stopped_)())) return Outcome::kStopped;
  const std::vector<Branch> next = branches(items, last);
  if (next.empty() || !sections_fit(items, last)) return Outcome::kNone;
  const std::size_t mark = trail_.size();
  std::vector<std::uint32_t> others(items.size() - 1);
  for (const Branch& branch : next) {
    place(branch.item, branch.floor);
    std::remove_copy(items.begin(), items.end(), others.begin(), branch.item);
    const Outcome outcome = search(others, {branch.floor, branch.rank});
    if (outcome != Outcome::kNone) return outcome;
    undo_to(mark);
  }
  return Outcome::kNone;
}

/// What can come next, in the order in which it is tried. Nothing if an item does not fit, or can sink.
std::vector<TreeSearch::Branch> TreeSearch::branches(Items items, Last last) {
  Units lowest_top = kMost;
  for (const std::uint32_t i : items) {
    const Units size = problem_.items[i].size;
    if (floor_[i] + size <= last.offset || !fits(std::max(floor_[i], last.offset) + size)) return {};
    lowest_top = std::min(lowest_top, floor_[i] + size);
  }
  std::vector<Branch> result;
  for (const std::uint32_t i : items) {
    const bool after = floor_[i] > last.offset || (floor_[i] == last.offset && rank_[i] > last.rank);
    // Above the lowest top, the item that has it could sink below this one.
    if (after && floor_[i] < lowest_top) result.push_back({floor_[i], rank_[i], i});
  }
  std::sort(result.begin(), result.end());
  return result;
}

bool TreeSearch::sections_fit(Items items, Last last) {
  std::uint32_t end = 0;
  for (const std::uint32_t i : items) end = std::max(end, problem_.items[i].last);
  for (std::uint32_t section = problem_.items[items[0]].first; section < end; ++section) {
    if (!section_fits(section, last)) return false;
  }
  return true;
}

/// Whether the lowest floor in the section leaves room for all that is still to come. One item that is low
/// enough will do, and mostly it is the one that did at the last node.
bool TreeSearch::section_fits(std::uint32_t section, Last last) {
  const Units highest = capacity_ - rest_[section];
  if (rest_[section] == 0) return true;
  if (last.offset <= highest) {
    if (const std::uint32_t i = witness_[section]; !placed(i) && floor_[i] <= highest) return true;
  }
  Units lowest = kMost;
  for (const std::uint32_t i : living_[section]) {
    if (placed(i)) continue;
    lowest = std::min(lowest, std::max(floor_[i], last.offset));
    if (lowest <= highest) {
      witness_[section] = i;
      return true;
    }
  }
  return fits(lowest + rest_[section]);
}

bool TreeSearch::fits(Units size) {
  if (size <= capacity_) return true;
  needed_ = std::min(needed_, size);
  return false;
}

void TreeSearch::place(std::uint32_t item, Units offset) {
  const auto [size, first, last] = problem_.items[item];
  offset_[item] = offset;
  trail_.push_back({item, Placement::kNowhere});
  for (std::uint32_t section = first; section < last; ++section) rest_[section] -= size;
  for (const std::uint32_t other : conflicts_[item]) {
    if (placed(other) || floor_[other] >= offset + size) continue;
    trail_.push_back({other, floor_[other]});
    floor_[other] = offset + size;
  }
}

void TreeSearch::undo_to(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const auto [item, floor] = trail_.back();
    if (floor != Placement::kNowhere) {
      floor_[item] = floor;
      continue;
    }
    offset_[item] = Placement::kNowhere;
    const auto [size, first, last] = problem_.items[item];
    for (std::uint32_t section = first; section < last; ++section) rest_[section] += size;
  }
}

}  // namespace checkmate
