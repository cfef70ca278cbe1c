#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "layout/problem.h"

namespace checkmate {

/// As an allocator would: items in the order of time, each in the tightest gap, else on top. O(n log n).
Placement place_by_time(const Problem& problem);

/// Which gap an item takes: the lowest that is wide enough, or the tightest.
enum class Fit : std::uint8_t { kLowest, kTightest };

/// Items one after the other, but for those that `start` has placed. Nothing if `stopped` says so on the way.
/// O(n) for an item where most items conflict, else O(k log k) for k conflicts.
std::optional<Placement> place_in_order(const Problem& problem, const Conflicts& conflicts,
                                        std::span<const std::uint32_t> order, Fit fit, Placement start,
                                        const std::function<bool()>& stopped);

/// The largest items first.
std::vector<std::uint32_t> by_size(const Problem& problem);

/// Orders that do well, each on its own kind of problem: large ones first, large and long ones first, long
/// ones first, those that live when memory is fullest first.
std::vector<std::vector<std::uint32_t>> greedy_orders(const Problem& problem);

}  // namespace checkmate
