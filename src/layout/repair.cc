#include "layout/repair.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace checkmate {
namespace {

constexpr double kLargestBase = 1 << 20;
constexpr std::int64_t kHeldWeight = std::int64_t{1}
                                     << 40;  // above any weight, but not above all possible sums

/// What it costs to take an item out: large and long ones are hard to place again.
std::int64_t base_weight(const Problem& problem, const Problem::Item& item) {
  const double size = static_cast<double>(item.size) / static_cast<double>(problem.peak);
  const double life = static_cast<double>(item.last - item.first) / problem.section_count;
  return 1 + std::llround(kLargestBase * size * std::sqrt(life));
}

template <class Edge>
bool is_lower(const Edge& a, const Edge& b) {
  return a.at < b.at;
}

}  // namespace

Repair::Repair(const Problem& problem, const Conflicts& conflicts, std::uint64_t seed)
    : problem_(problem), conflicts_(conflicts), random_(seed), dense_(conflicts.dense()) {
  for (const Problem::Item& item : problem.items) base_.push_back(base_weight(problem, item));
}

void Repair::begin(const Placement& start, Units capacity) {
  capacity_ = capacity;
  weight_ = base_;
  held_until_.assign(problem_.size(), 0);
  offset_ = start.offsets;
  out_.clear();
  weight_out_ = 0;
  bottoms_.clear();
  tops_.clear();
  for (std::uint32_t i = 0; i < problem_.size(); ++i) {
    const auto [size, first, last] = problem_.items[i];
    if (offset_[i] + size > capacity_) {
      offset_[i] = Placement::kNowhere;
      out_.push_back(i);
      weight_out_ += base_[i];
    } else if (dense_) {
      bottoms_.push_back({offset_[i], first, last, i});
      tops_.push_back({offset_[i] + size, first, last, i});
    }
  }
  std::sort(bottoms_.begin(), bottoms_.end(), is_lower<Edge>);
  std::sort(tops_.begin(), tops_.end(), is_lower<Edge>);
}

bool Repair::move() {
  if (out_.empty()) return true;
  ++moves_;
  const std::uint32_t item = take_heaviest();
  const Spot spot = cheapest_spot(item);
  if (spot.cost > 0) {
    const Units top = spot.offset + problem_.items[item].size;
    for (const Near& bottom : near_bottoms_) {
      if (bottom.at >= top) break;
      if (bottom.at + problem_.items[bottom.item].size <= spot.offset) continue;
      weight_[bottom.item] += base_[bottom.item] * 3 / 10;
      take_out(bottom.item);
    }
  }
  put(item, spot.offset);
  held_until_[item] = moves_ + 1 + random_.below(2);
  return out_.empty();
}

Placement Repair::placement() const {
  Placement placement{offset_, 0};
  for (std::size_t i = 0; i < problem_.size(); ++i)
    placement.size = std::max(placement.size, offset_[i] + problem_.items[i].size);
  return placement;
}

std::uint32_t Repair::take_heaviest() {
  const auto heaviest = std::max_element(
      out_.begin(), out_.end(), [&](std::uint32_t a, std::uint32_t b) { return base_[a] < base_[b]; });
  const std::uint32_t item = *heaviest;
  out_.erase(heaviest);
  weight_out_ -= base_[item];
  return item;
}

void Repair::put(std::uint32_t item, Units offset) {
  offset_[item] = offset;
  if (!dense_) return;
  const auto [size, first, last] = problem_.items[item];
  const Edge bottom{offset, first, last, item}, top{offset + size, first, last, item};
  bottoms_.insert(std::upper_bound(bottoms_.begin(), bottoms_.end(), bottom, is_lower<Edge>), bottom);
  tops_.insert(std::upper_bound(tops_.begin(), tops_.end(), top, is_lower<Edge>), top);
}

void Repair::take_out(std::uint32_t item) {
  const auto remove = [&](std::vector<Edge>& edges, Units at) {
    auto edge = std::lower_bound(edges.begin(), edges.end(), Edge{at, 0, 0, 0}, is_lower<Edge>);
    while (edge->item != item) ++edge;
    edges.erase(edge);
  };
  if (dense_) {
    remove(bottoms_, offset_[item]);
    remove(tops_, offset_[item] + problem_.items[item].size);
  }
  offset_[item] = Placement::kNowhere;
  out_.push_back(item);
  weight_out_ += base_[item];
}

/// Fills near_bottoms_ and near_tops_.
void Repair::gather(std::uint32_t item) {
  const auto weight = [&](std::uint32_t other) {
    return weight_[other] + (held_until_[other] > moves_ ? kHeldWeight : 0);
  };
  if (dense_) {
    const auto filter = [&](const std::vector<Edge>& edges, std::vector<Near>& near) {
      const auto [size, first, last] = problem_.items[item];
      near.resize(edges.size());
      std::size_t count = 0;
      for (const Edge& edge : edges) {  // without a branch, which nobody could predict
        near[count] = {edge.at, weight(edge.item), edge.item};
        count += static_cast<std::size_t>((edge.first < last) & (first < edge.last));
      }
      near.resize(count);
    };
    filter(bottoms_, near_bottoms_);
    filter(tops_, near_tops_);
    return;
  }
  near_bottoms_.clear();
  near_tops_.clear();
  for (const std::uint32_t other : conflicts_.of(item)) {
    const Units offset = offset_[other];
    if (offset == Placement::kNowhere) continue;
    near_bottoms_.push_back({offset, weight(other), other});
    near_tops_.push_back({offset + problem_.items[other].size, weight(other), other});
  }
  std::sort(near_bottoms_.begin(), near_bottoms_.end(), is_lower<Near>);
  std::sort(near_tops_.begin(), near_tops_.end(), is_lower<Near>);
}

/// The weight of what overlaps a window that goes up: what begins below its end less what ends by its start.
class Repair::Sweep {
 public:
  Sweep(const Repair& repair, Units size)
      : bottoms_(repair.near_bottoms_), tops_(repair.near_tops_), size_(size) {}

  Weight cost_at(Units offset) {
    for (; bottom_ < bottoms_.size() && bottoms_[bottom_].at < offset + size_; ++bottom_)
      cost_ += bottoms_[bottom_].weight;
    for (; top_ < tops_.size() && tops_[top_].at <= offset; ++top_) cost_ -= tops_[top_].weight;
    return cost_;
  }

 private:
  const std::vector<Near>&bottoms_, &tops_;
  const Units size_;
  std::size_t bottom_ = 0, top_ = 0;
  Weight cost_ = 0;
};

/// Spots that touch another item or an end of the memory are enough: from any other, the item can sink or
/// rise to one of them without meeting anything new.
Repair::Spot Repair::cheapest_spot(std::uint32_t item) {
  gather(item);
  const Units size = problem_.items[item].size, highest = capacity_ - size;
  Spot cheapest{0, std::numeric_limits<Weight>::max()};
  std::uint64_t equals = 0;
  const auto consider = [&](Units offset, Weight cost) {
    if (cost > cheapest.cost) return;
    if (cost < cheapest.cost) equals = 0;
    if (random_.one_in(++equals)) cheapest = {offset, cost};
  };
  Sweep upwards(*this, size);
  consider(0, upwards.cost_at(0));
  for (const Near& top : near_tops_) {
    if (top.at > highest) break;
    consider(top.at, upwards.cost_at(top.at));
  }
  Sweep below(*this, size);
  for (const Near& bottom : near_bottoms_) {
    if (bottom.at >= size) consider(bottom.at - size, below.cost_at(bottom.at - size));
  }
  consider(highest, below.cost_at(highest));
  return cheapest;
}

}  // namespace checkmate
