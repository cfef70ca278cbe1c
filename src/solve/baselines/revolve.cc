#include "solve/baselines/revolve.h"

#include <algorithm>
#include <utility>

namespace checkmate {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

/// C(slots + repeats, slots): the longest chain that so many slots reverse with each block advanced over at
/// most `repeats` times. Saturates at kPlenty.
std::uint64_t longest(std::uint64_t slots, std::uint64_t repeats) {
  std::uint64_t value = 1;
  for (std::uint64_t k = 1; k <= std::min(slots, repeats); ++k) {
    value = value * (std::max(slots, repeats) + k) / k;
    if (value >= kPlenty) return kPlenty;
  }
  return value;
}

/// The least r with longest(slots, r) >= length.
std::uint64_t repeats_for(std::uint64_t length, std::uint64_t slots) {
  std::uint64_t repeats = 0;
  while (longest(slots, repeats) < length) ++repeats;
  return repeats;
}

/// How far to advance before the next state is stored. With r repeats left for the whole, the part ahead must
/// be reversible with one slot and the part behind with one repeat less; any distance that leaves both full
/// enough is optimal.
std::uint64_t advance(std::uint64_t length, std::uint64_t slots) {
  const std::uint64_t repeats = repeats_for(length, slots);
  const std::uint64_t behind_at_least = repeats < 2 ? 1 : longest(slots, repeats - 2);
  const std::uint64_t ahead_at_most = longest(slots - 1, repeats);
  return std::max(behind_at_least, length > ahead_at_most ? length - ahead_at_most : 1);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> revolve(std::uint32_t length, std::uint32_t slots) {
  struct Part {
    std::uint32_t start;  // a stored state
    std::uint32_t end;    // blocks start+1 .. end are to be reversed
    std::uint32_t slots;  // the one at `start` included
  };
  std::vector<std::vector<std::uint32_t>> stored_for(length + std::size_t{1});
  std::vector<std::uint32_t> stored;
  std::vector<Part> parts;
  if (length > 0) parts.push_back({0, length, std::max(slots, 1U)});
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.end - part.start == 1 || part.slots == 1) {
      stored_for[part.end] = std::exchange(stored, {});
      continue;
    }
    const auto middle = part.start + static_cast<std::uint32_t>(advance(part.end - part.start, part.slots));
    stored.push_back(middle);
    parts.push_back({part.start, middle, part.slots});
    parts.push_back({middle, part.end, part.slots - 1});
  }
  return stored_for;
}

std::uint64_t revolve_advances(std::uint64_t length, std::uint64_t slots) {
  if (length == 0) return 0;
  const std::uint64_t repeats = repeats_for(length, slots);
  return repeats == 0 ? 0 : repeats * length - longest(slots + 1, repeats - 1);
}

}  // namespace checkmate
