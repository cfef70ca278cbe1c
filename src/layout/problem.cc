#include "layout/problem.h"

#include <algorithm>
#include <bit>

namespace checkmate {
namespace {

constexpr std::uint64_t kKeptConflicts = 1U << 24;  // 64 MiB

/// The moments at which sections begin: each birth that follows a death or nothing.
std::vector<std::uint32_t> section_starts(const std::vector<Block>& blocks) {
  std::vector<std::uint32_t> births, deaths, starts;
  for (const Block& block : blocks) {
    births.push_back(block.first);
    deaths.push_back(block.last);
  }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  auto death = deaths.begin();
  for (const std::uint32_t birth : births) {
    const auto passed = std::upper_bound(death, deaths.end(), birth);
    if (starts.empty() || passed != death) {
      starts.push_back(birth);
    } else {
      starts.back() = birth;  // the set only grew
    }
    death = passed;
  }
  return starts;
}

}  // namespace

Problem problem_of(std::span<const Block> blocks, Bytes alignment) {
  Problem problem;
  std::vector<Block> living;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].size == Bytes{0} || blocks[i].first == blocks[i].last) continue;
    living.push_back(blocks[i]);
    problem.block.push_back(i);
  }
  const std::vector<std::uint32_t> starts = section_starts(living);
  const auto section_from = [&](std::uint32_t moment) {
    return static_cast<std::uint32_t>(std::lower_bound(starts.begin(), starts.end(), moment) -
                                      starts.begin());
  };
  problem.section_count = static_cast<std::uint32_t>(starts.size());
  problem.load.assign(starts.size(), 0);
  std::vector<Problem::Units> change(starts.size() + 1);
  const std::int64_t unit = alignment.count();
  for (const Block& block : living) {
    const Problem::Units size = block.size.count() / unit + (block.size.count() % unit != 0 ? 1 : 0);
    const Problem::Item item{size, section_from(block.first), section_from(block.last)};
    problem.items.push_back(item);
    change[item.first] += size;
    change[item.last] -= size;
  }
  Problem::Units live = 0;
  for (std::size_t section = 0; section < starts.size(); ++section) {
    problem.load[section] = live += change[section];
    problem.peak = std::max(problem.peak, live);
  }
  return problem;
}

Problem large_items(const Problem& problem, Problem::Units least) {
  std::vector<Block> blocks;
  for (const Problem::Item& item : problem.items)
    blocks.push_back({Bytes{item.size < least ? 0 : item.size}, item.first, item.last});
  return problem_of(blocks, Bytes{1});
}

Conflicts::Conflicts(const Problem& problem)
    : problem_(problem), leaves_(std::bit_ceil(std::max(problem.section_count, 1U))) {
  covering_ = Rows<std::uint32_t>::by_row(2 * std::size_t{leaves_}, [&](const auto& add) {
    for (std::uint32_t i = 0; i < problem.size(); ++i) {
      std::uint32_t left = leaves_ + problem.items[i].first, right = leaves_ + problem.items[i].last;
      for (; left < right; left /= 2, right /= 2) {
        if (left % 2 == 1) add(left++, i);
        if (right % 2 == 1) add(--right, i);
      }
    }
  });
  starting_ = Rows<std::uint32_t>::by_row(problem.section_count, [&](const auto& add) {
    for (std::uint32_t i = 0; i < problem.size(); ++i) add(problem.items[i].first, i);
  });
  // Item j conflicts with all but those that end by its first section or begin after its last.
  std::vector<std::uint64_t> ended(problem.section_count + 1), begun(problem.section_count + 1);
  for (const Problem::Item& item : problem.items) {
    ++ended[item.last];
    ++begun[item.first + 1];
  }
  std::partial_sum(ended.begin(), ended.end(), ended.begin());
  std::partial_sum(begun.begin(), begun.end(), begun.begin());
  std::uint64_t count = 0;
  for (const Problem::Item& item : problem.items) count += begun[item.last] - ended[item.first] - 1;
  dense_ = count / std::max<std::size_t>(problem.size(), 1) > problem.size() / 16;
  if (dense_ || count > kKeptConflicts) return;
  for (std::uint32_t i = 0; i < problem.size(); ++i) {
    visit(i, [&](std::uint32_t other) { lists_.push_item(other); });
    lists_.end_row();
  }
  kept_ = true;
}

template <class Visit>
void Conflicts::visit(std::uint32_t item, const Visit& visit) const {
  const auto [size, first, last] = problem_.items[item];
  for (std::uint32_t node = leaves_ + first; node > 0; node /= 2) {  // all that live in its first section
    for (const std::uint32_t other : covering_[node]) {
      if (other != item) visit(other);
    }
  }
  for (std::uint32_t section = first + 1; section < last; ++section) {
    for (const std::uint32_t other : starting_[section]) visit(other);
  }
}

std::span<const std::uint32_t> Conflicts::of(std::uint32_t item) const {
  if (kept_) return lists_[item];
  scratch_.clear();
  visit(item, [&](std::uint32_t other) { scratch_.push_back(other); });
  return scratch_;
}

}  // namespace checkmate
