#include "checkmate/layout.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/guarded.h"
#include "core/text.h"
#include "core/try.h"
#include "layout/problem.h"
#include "layout/search.h"

namespace checkmate {
namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<void> check_options(const LayoutOptions& options) {
  if (!(options.time_limit.count() >= 0)) return invalid("the time limit must be 0 or more");
  if (options.alignment < Bytes{1} || options.alignment.count() > kLargestTotal)
    return invalid(fmt::format("the alignment must be 1 to 2^62 bytes, got {}", options.alignment.count()));
  if (options.capacity && *options.capacity < Bytes{0})
    return invalid(fmt::format("the capacity must be 0 or more, got {}", options.capacity->count()));
  return {};
}

/// Valid blocks whose rounded sizes sum to something that any offset can be added to.
Result<void> check_blocks(std::span<const Block> blocks, std::int64_t alignment) {
  constexpr std::size_t kMostBlocks = std::size_t{1} << 31;
  if (blocks.size() > kMostBlocks) return Error{ErrorCode::kTooLarge, "there are more than 2^31 blocks"};
  std::int64_t units_left = kLargestTotal / alignment;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [size, first, last] = blocks[i];
    if (size < Bytes{0}) return invalid(fmt::format("block {} has {} bytes", i, size.count()));
    if (last < first)
      return invalid(fmt::format("block {} ends at moment {}, before it begins at {}", i, last, first));
    const std::int64_t units = size.count() / alignment + (size.count() % alignment != 0 ? 1 : 0);
    if (units > units_left) {
      return Error{ErrorCode::kTooLarge,
                   fmt::format("block {} of {}: the sizes, rounded up to multiples of {}, sum to more than "
                               "2^62 bytes",
                               i, exact(size), alignment)};
    }
    units_left -= units;
  }
  return {};
}

Result<LayoutResult> checked_layout(std::span<const Block> blocks, const LayoutOptions& options,
                                    std::stop_token stop) {
  CHECKMATE_TRY(check_options(options));
  CHECKMATE_TRY(check_blocks(blocks, options.alignment.count()));
  const Problem problem = problem_of(blocks, options.alignment);
  Search search(problem, options, std::move(stop));
  const Placement placement = search.run();

  LayoutResult result;
  result.layout = {std::vector<Bytes>(blocks.size()), options.alignment * placement.size, options.alignment};
  for (std::size_t i = 0; i < problem.size(); ++i)
    result.layout.offsets[problem.block[i]] = options.alignment * placement.offsets[i];
  if (const Result<void> sound = check_layout(blocks, result.layout); !sound)
    throw std::logic_error("a layout that was found is wrong: " + sound.error().message);
  result.peak = options.alignment * problem.peak;
  result.optimal = search.optimal();
  result.moves = search.moves();
  result.seconds = search.seconds();
  return result;
}

}  // namespace

Result<LayoutResult> lay_out(std::span<const Block> blocks, const LayoutOptions& options,
                             std::stop_token stop) {
  return guarded([&] { return checked_layout(blocks, options, std::move(stop)); });
}

}  // namespace checkmate
