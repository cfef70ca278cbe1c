#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/units.h"

#pragma GCC visibility push(default)
/// Addresses: where in one piece of memory each block lies, so that blocks that live at once do not overlap.
namespace checkmate {

/// Memory that is needed for a while: from moment `first` up to, but not including, `last`.
struct Block {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const Block&) const = default;
};

struct Layout {
  std::vector<Bytes> offsets;  ///< per block, multiples of `alignment`
  Bytes size;                  ///< every block that lives ends within it
  Bytes alignment{1};
  bool operator==(const Layout&) const = default;
};

/// The state of a search, reported whenever the layout gets smaller.
struct LayoutProgress {
  double seconds;
  Bytes size;  ///< of the best layout so far
  Bytes peak;
};

struct LayoutOptions {
  std::chrono::duration<double> time_limit{2};  ///< then the best layout so far is returned
  std::uint64_t seed = 1;                       ///< with a limit of moves, it determines the layout
  Bytes alignment{64};                          ///< of offsets; sizes count as rounded up to it
  std::optional<Bytes> capacity = {};           ///< stop as soon as the layout is no larger
  std::uint64_t moves = 0;                      ///< stop after this many moves; 0: no limit
  std::function<void(const LayoutProgress&)> on_progress = {};
};

struct LayoutResult {
  Layout layout;
  Bytes peak;             ///< the most bytes, rounded up to the alignment, that live at once: none is smaller
  bool optimal = false;   ///< proven: no layout is smaller, because of the peak or of an exhaustive search
  std::uint64_t moves{};  ///< of the search
  double seconds = 0;
};

/// The blocks that a plan needs, in the order in which it allocates them: step by step, the outputs of the
/// step's op in the graph's order, each until it is freed, then the op's workspace, if it has any, for that
/// step alone. Step i is moment i. Fixed memory is not part of it, so the peak of the blocks with alignment
/// 1 is simulate()'s peak without the graph's fixed bytes. An error when the plan cannot run.
Result<std::vector<Block>> blocks_of(const Graph& graph, const Plan& plan);

/// Looks for a small layout: greedy placements, then a search that repairs them for less and less memory,
/// then, for few blocks, an exhaustive one. Blocks without bytes or without a life lie at offset 0. Every
/// layout has passed check_layout() before it is returned. Errors are invalid options, a block that ends
/// before it begins, and sizes that sum to more than kLargestTotal. Thread-safe; stops soon after the token
/// or the time limit requests it, but not without a layout.
///
/// The first layout takes O(n log n) time and memory for n blocks, and a move O(k log k) for k blocks that
/// live at the same time as the one that moves.
Result<LayoutResult> lay_out(std::span<const Block> blocks, const LayoutOptions& options = {},
                             std::stop_token stop = {});

/// Whether the layout holds these blocks: one offset for each, aligned, inside, and no two that live at once
/// overlap. The error names the first that is wrong. Independent of lay_out(): a sweep over the moments with
/// the live blocks in order of their offsets, O(n log n).
Result<void> check_layout(std::span<const Block> blocks, const Layout& layout);

}  // namespace checkmate
#pragma GCC visibility pop
