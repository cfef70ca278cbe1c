#include "checkmate/layout.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/text.h"
#include "core/try.h"
#include "layout/greedy.h"
#include "layout/problem.h"

namespace checkmate {
namespace {

using Units = Problem::Units;
using Clock = std::chrono::steady_clock;

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

class Search {
 public:
  Search(const Problem& problem, const LayoutOptions& options, std::stop_token stop)
      : problem_(problem), options_(options), stop_(std::move(stop)) {}

  Placement run() {
    offer(place_by_time(problem_));
    if (finished()) return std::move(best_);
    const Conflicts conflicts(problem_);
    for (const auto& order : greedy_orders(problem_)) {
      for (const Fit fit : {Fit::kLowest, Fit::kTightest}) {
        if (finished()) return std::move(best_);
        offer(place_in_order(problem_, conflicts, order, fit));
      }
    }
    return std::move(best_);
  }

  std::uint64_t moves() const { return moves_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  void offer(Placement placement) {
    if (!best_.offsets.empty() && placement.size >= best_.size) return;
    best_ = std::move(placement);
    if (options_.on_progress) options_.on_progress({seconds(), bytes(best_.size), bytes(problem_.peak)});
  }
  Bytes bytes(Units units) const { return options_.alignment * units; }
  bool finished() const {
    return best_.size == problem_.peak || (options_.capacity && bytes(best_.size) <= *options_.capacity) ||
           stop_.stop_requested() || seconds() >= options_.time_limit.count();
  }

  const Problem& problem_;
  const LayoutOptions& options_;
  std::stop_token stop_;
  Clock::time_point start_ = Clock::now();
  Placement best_;
  std::uint64_t moves_ = 0;
};

}  // namespace

Result<LayoutResult> lay_out(std::span<const Block> blocks, const LayoutOptions& options,
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
  result.optimal = placement.size == problem.peak;
  result.moves = search.moves();
  result.seconds = search.seconds();
  return result;
}

}  // namespace checkmate
