#include "solve/anneal/memory_profile.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace checkmate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The hottest loop of the search, once more for processors with wider registers; the loader picks. Sanitizers
// do not stand the resolvers that this takes.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CHECKMATE_FOR_WIDE_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CHECKMATE_FOR_WIDE_REGISTERS
#endif

struct Summary {
  double most = -kInfinity;
  double least = kInfinity;
  double sum = 0;
  double over = 0;
};

CHECKMATE_FOR_WIDE_REGISTERS
Summary summarise(const double* values, std::int64_t count, double limit, double penalty) {
  double most = -kInfinity;
  double least = kInfinity;
  double sum = 0;
  double over = 0;
  const double free = limit - penalty;
#pragma omp simd reduction(max : most) reduction(min : least) reduction(+ : sum, over)
  for (std::int64_t slot = 0; slot < count; ++slot) {
    const double value = values[slot];
    most = value > most ? value : most;
    least = value < least ? value : least;
    sum += value;
    over += value > limit ? value - free : 0.0;
  }
  return {most, least, sum, over};
}

}  // namespace

void MemoryProfile::reset(std::vector<std::vector<double>> blocks) {
  blocks_ = std::move(blocks);
  leaves_ = std::bit_ceil(static_cast<std::uint32_t>(blocks_.size()));
  nodes_.assign(std::size_t{2} * leaves_, Node{-kInfinity, kInfinity, 0, 0});
  touched_.clear();
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) refresh(block);
  for (std::size_t node = leaves_; --node > 0;) pull_up(node);
}

void MemoryProfile::open(Place place, double value) {
  std::vector<double>& values = blocks_[place.block];
  double pending = 0;
  for (std::size_t node = leaves_ + place.block; node > 0; node /= 2) pending += nodes_[node].pending;
  values.insert(values.begin() + place.slot, value - pending);
  touch(place.block);
}

void MemoryProfile::close(Place place) {
  std::vector<double>& values = blocks_[place.block];
  values.erase(values.begin() + place.slot);
  touch(place.block);
}

void MemoryProfile::add(Place first, Place end, double amount) {
  const auto add_slots = [&](std::uint32_t block, std::size_t from, std::size_t to) {
    if (from >= to) return;
    double* const values = blocks_[block].data();
    for (std::size_t slot = from; slot < to; ++slot) values[slot] += amount;
    touch(block);
  };
  if (first.block > end.block) return;
  if (first.block == end.block) return add_slots(first.block, first.slot, end.slot);
  add_slots(first.block, first.slot, blocks_[first.block].size());
  if (first.block + 1 < end.block) add_blocks(1, 0, leaves_, first.block + 1, end.block, amount);
  add_slots(end.block, 0, end.slot);
}

double MemoryProfile::at(Place place) const {
  double value = blocks_[place.block][place.slot];
  for (std::size_t node = leaves_ + place.block; node > 0; node /= 2) value += nodes_[node].pending;
  return value;
}

double MemoryProfile::overflow_change(Place first, Place end, double amount) {
  settle();
  const bool nothing = first.block > end.block || (first.block == end.block && first.slot >= end.slot);
  return nothing ? 0 : change_below(1, 0, leaves_, 0, {first, end, amount});
}

std::optional<MemoryProfile::Place> MemoryProfile::worst() {
  settle();
  if (nodes_[1].most <= budget_) return std::nullopt;
  std::size_t node = 1;
  while (node < leaves_) node = 2 * node + (nodes_[2 * node].most >= nodes_[2 * node + 1].most ? 0 : 1);
  const auto block = static_cast<std::uint32_t>(node - leaves_);
  const std::vector<double>& values = blocks_[block];
  const auto largest = std::max_element(values.begin(), values.end());
  return Place{block, static_cast<std::uint32_t>(largest - values.begin())};
}

std::optional<MemoryProfile::Place> MemoryProfile::any_over(Random& random) {
  settle();
  if (nodes_[1].most <= budget_) return std::nullopt;
  std::size_t node = 1;
  double pending = 0;
  while (node < leaves_) {
    pending += nodes_[node].pending;
    const std::size_t one = 2 * node + random.below(2);
    node = nodes_[one].most + pending > budget_ ? one : one ^ 1U;
  }
  const auto block = static_cast<std::uint32_t>(node - leaves_);
  const std::vector<double>& values = blocks_[block];
  const double limit = budget_ - pending - nodes_[node].pending;
  std::size_t slot = random.below(values.size());
  while (values[slot] <= limit) slot = slot + 1 == values.size() ? 0 : slot + 1;
  return Place{block, static_cast<std::uint32_t>(slot)};
}

void MemoryProfile::touch(std::uint32_t block) {
  if (std::find(touched_.begin(), touched_.end(), block) == touched_.end()) touched_.push_back(block);
}

void MemoryProfile::settle() {
  for (const std::uint32_t block : touched_) {
    const std::size_t leaf = leaves_ + block;
    for (std::size_t level = std::bit_width(leaf) - 1; level > 0; --level) push_down(leaf >> level);
    refresh(block);
    for (std::size_t node = leaf / 2; node > 0; node /= 2) pull_up(node);
  }
  touched_.clear();
}

void MemoryProfile::refresh(std::uint32_t block) {
  const std::vector<double>& values = blocks_[block];
  Node& leaf = nodes_[leaves_ + block];
  const auto count = static_cast<std::int64_t>(values.size());
  const Summary summary = summarise(values.data(), count, budget_ - leaf.pending, penalty_);
  leaf.count = static_cast<std::uint32_t>(count);
  leaf.most = summary.most + leaf.pending;
  leaf.least = summary.least + leaf.pending;
  leaf.sum = summary.sum + leaf.pending * static_cast<double>(count);
  leaf.over = summary.over;
}

void MemoryProfile::apply(std::size_t node, double amount) {
  Node& here = nodes_[node];
  here.most += amount;
  here.least += amount;
  here.sum += amount * here.count;
  here.pending += amount;
  if (here.most <= budget_) {
    here.over = 0;
  } else if (here.least > budget_) {
    here.over = here.sum - here.count * (budget_ - penalty_);
  } else if (node >= leaves_) {
    refresh(static_cast<std::uint32_t>(node - leaves_));
  } else {
    push_down(node);
    here.over = nodes_[2 * node].over + nodes_[2 * node + 1].over;
  }
}

void MemoryProfile::push_down(std::size_t node) {
  if (nodes_[node].pending == 0) return;
  apply(2 * node, nodes_[node].pending);
  apply(2 * node + 1, nodes_[node].pending);
  nodes_[node].pending = 0;
}

void MemoryProfile::pull_up(std::size_t node) {
  const Node& left = nodes_[2 * node];
  const Node& right = nodes_[2 * node + 1];
  Node& here = nodes_[node];
  here.most = std::max(left.most, right.most) + here.pending;
  here.least = std::min(left.least, right.least) + here.pending;
  here.count = left.count + right.count;
  here.sum = left.sum + right.sum + here.pending * here.count;
  here.over = left.over + right.over;
}

void MemoryProfile::add_blocks(std::size_t node, std::uint32_t low, std::uint32_t high, std::uint32_t first,
                               std::uint32_t end, double amount) {
  if (first <= low && high <= end) return apply(node, amount);
  push_down(node);
  const std::uint32_t middle = low + (high - low) / 2;
  if (first < middle) add_blocks(2 * node, low, middle, first, end, amount);
  if (end > middle) add_blocks(2 * node + 1, middle, high, first, end, amount);
  pull_up(node);
}

double MemoryProfile::change_below(std::size_t node, std::uint32_t low, std::uint32_t high, double pending,
                                   const Change& change) const {
  const Node& here = nodes_[node];
  if (high <= change.first.block || low > change.end.block || here.count == 0) return 0;
  if (here.most + pending + std::max(change.amount, 0.0) <= budget_) return 0;
  const bool whole = low > change.first.block && high <= change.end.block;
  if (whole && here.least + pending + std::min(change.amount, 0.0) > budget_)
    return here.count * change.amount;
  pending += here.pending;
  if (node < leaves_) {
    const std::uint32_t middle = low + (high - low) / 2;
    return change_below(2 * node, low, middle, pending, change) +
           change_below(2 * node + 1, middle, high, pending, change);
  }
  const std::size_t from = low == change.first.block ? change.first.slot : 0;
  const std::size_t to = low == change.end.block ? change.end.slot : here.count;
  const double* const values = blocks_[low].data();
  const double limit = budget_ - pending;
  const double free = limit - penalty_;
  double sum = 0;
  for (std::size_t slot = from; slot < to; ++slot) {
    const double before = values[slot];
    const double after = before + change.amount;
    sum += (after > limit ? after - free : 0.0) - (before > limit ? before - free : 0.0);
  }
  return sum;
}

}  // namespace checkmate
