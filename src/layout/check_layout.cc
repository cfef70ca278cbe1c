#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "checkmate/layout.h"
#include "core/text.h"
#include "core/try.h"

namespace checkmate {
namespace {

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<void> check_block(std::size_t index, const Block& block, Bytes offset, const Layout& layout) {
  if (block.size < Bytes{0} || block.first > block.last)
    return wrong(fmt::format("block {} has a negative size or ends before it begins", index));
  if (offset < Bytes{0} || offset.count() % layout.alignment.count() != 0) {
    return wrong(fmt::format("block {} lies at offset {}, which is not a multiple of {}", index,
                             offset.count(), layout.alignment.count()));
  }
  if (block.first == block.last) return {};  // it takes no memory
  if (block.size > layout.size || offset > layout.size - block.size) {
    return wrong(fmt::format("block {} of {} at offset {} ends outside the layout of {}", index,
                             exact(block.size), offset.count(), exact(layout.size)));
  }
  return {};
}

/// A block begins or ends.
struct Event {
  std::uint32_t moment;
  bool begins;  // ends come first: a life does not include its last moment
  std::size_t block;
  auto operator<=>(const Event&) const = default;
};

std::vector<Event> events_of(std::span<const Block> blocks) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].size == Bytes{0} || blocks[i].first == blocks[i].last) continue;
    events.push_back({blocks[i].first, true, i});
    events.push_back({blocks[i].last, false, i});
  }
  std::sort(events.begin(), events.end());
  return events;
}

}  // namespace

Result<void> check_layout(std::span<const Block> blocks, const Layout& layout) {
  if (layout.alignment < Bytes{1}) return wrong("the alignment of a layout must be positive");
  if (layout.offsets.size() != blocks.size()) {
    return wrong(fmt::format("the layout has {} for {}", counted(layout.offsets.size(), "offset"),
                             counted(blocks.size(), "block")));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECKMATE_TRY(check_block(i, blocks[i], layout.offsets[i], layout));
  }
  std::map<Bytes, std::size_t> live;  // by offset; as long as none overlap, only neighbours can
  for (const Event& event : events_of(blocks)) {
    const Bytes offset = layout.offsets[event.block];
    if (!event.begins) {
      live.erase(offset);
      continue;
    }
    const auto above = live.lower_bound(offset);
    std::optional<std::size_t> other;
    if (above != live.end() && above->first < offset + blocks[event.block].size) other = above->second;
    if (above != live.begin()) {
      const auto& [start, below] = *std::prev(above);
      if (start + blocks[below].size > offset) other = below;
    }
    if (other) {
      return wrong(fmt::format("blocks {} and {} overlap at moment {}: {} at offset {} and {} at offset {}",
                               *other, event.block, event.moment, exact(blocks[*other].size),
                               layout.offsets[*other].count(), exact(blocks[event.block].size),
                               offset.count()));
    }
    live.emplace(offset, event.block);
  }
  return {};
}

}  // namespace checkmate
