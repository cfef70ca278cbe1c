#include "costs/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>
#include <unordered_map>

#include "core/text.h"
#include "costs/whole_cost.h"

namespace checkmate {
namespace {

std::optional<std::int64_t> parse_whole(std::string_view text, std::int64_t most) {
  std::uint64_t number = 0;  // unsigned: a sign is not a digit
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end || number > static_cast<std::uint64_t>(most)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

/// Cuts the text up to a separator off its front, and the separator with it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

/// One side of a shape. A size past what any tensor has stays past it, so that it fits none.
std::optional<std::string> sizes_at(std::string_view sizes, std::int64_t batch) {
  std::string text;
  const std::size_t count = 1 + static_cast<std::size_t>(std::count(sizes.begin(), sizes.end(), ','));
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view size = take_until(sizes, ',');
    const bool per_sample = size.ends_with('n');
    if (per_sample) size.remove_suffix(1);
    const std::optional<std::int64_t> bytes = parse_whole(size, kLargestTotal);
    if (!bytes) return std::nullopt;
    std::int64_t product = 0;
    if (__builtin_mul_overflow(*bytes, per_sample ? batch : 1, &product))
      product = std::numeric_limits<std::int64_t>::max();
    text += fmt::format("{}{}", i == 0 ? "" : ",", product);
  }
  return text;
}

std::string sizes_of(const Graph& graph, std::span<const TensorId> tensors) {
  std::string text;
  for (const TensorId tensor : tensors)
    text += fmt::format("{}{}", text.empty() ? "" : ",", graph.bytes(tensor).count());
  return text;
}

/// No shape has a space in it, so no two pairs of a shape and a kind have the same key.
std::string shape_key(std::string_view shape, std::string_view kind) {
  return fmt::format("{} {}", shape, kind);
}

/// The times of all series at one batch, found by op.
class Times {
 public:
  Times(const Profile& profile, std::int64_t batch) {
    for (const Profile::Series& series : profile.series) {
      const std::size_t place = times_.size();
      times_.push_back(time_at(series, batch));
      if (!series.op.empty()) {
        by_op_.try_emplace(series.op, place);
      } else if (const std::optional<std::string> shape = shape_at(series.shape, batch)) {
        by_shape_.try_emplace(shape_key(*shape, series.kind), place);
      }
    }
  }

  /// Where there is a series: its time, if it has one at this batch.
  std::optional<std::optional<Cost>> find(const Graph& graph, OpId op) const {
    if (const auto own = by_op_.find(graph.name(op)); own != by_op_.end()) return times_[own->second];
    if (by_shape_.empty()) return std::nullopt;
    const std::string shape =
        fmt::format("{}->{}", sizes_of(graph, graph.inputs(op)), sizes_of(graph, graph.outputs(op)));
    const auto alike = by_shape_.find(shape_key(shape, graph.kind(op)));
    if (alike == by_shape_.end()) return std::nullopt;
    return times_[alike->second];
  }

 private:
  std::vector<std::optional<Cost>> times_;
  std::unordered_map<std::string_view, std::size_t> by_op_;
  std::unordered_map<std::string, std::size_t> by_shape_;
};

/// Counts ops and remembers the first few.
class Tally {
 public:
  void add(const Graph& graph, OpId op) {
    constexpr std::size_t kShown = 3;
    ++count_;
    if (names_.size() < kShown) names_.push_back(in_quotes(graph.name(op)));
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return fmt::format("{} ({}{})", counted(count_, "op"), fmt::join(names_, ", "),
                       count_ > names_.size() ? ", ..." : "");
  }

 private:
  std::size_t count_ = 0;
  std::vector<std::string> names_;
};

}  // namespace

std::optional<std::int64_t> parse_batch(std::string_view text) {
  const std::optional<std::int64_t> batch = parse_whole(text, kLargestBatch);
  return batch && *batch > 0 ? batch : std::nullopt;
}

std::optional<std::int64_t> batch_in_name(std::string_view graph_name) {
  constexpr std::string_view kKey = "batch=";
  take_until(graph_name, '?');
  while (!graph_name.empty()) {
    const std::string_view pair = take_until(graph_name, '&');
    if (pair.starts_with(kKey)) return parse_batch(pair.substr(kKey.size()));
  }
  return std::nullopt;
}

std::optional<std::string> shape_at(std::string_view shape, std::int64_t batch) {
  constexpr std::string_view kArrow = "->";
  const std::size_t arrow = shape.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  // An op may read nothing, but it makes something.
  const std::optional<std::string> inputs =
      arrow == 0 ? std::string() : sizes_at(shape.substr(0, arrow), batch);
  const std::optional<std::string> outputs = sizes_at(shape.substr(arrow + kArrow.size()), batch);
  if (!inputs || !outputs) return std::nullopt;
  return fmt::format("{}{}{}", *inputs, kArrow, *outputs);
}

std::optional<Cost> time_at(const Profile::Series& series, std::int64_t batch) {
  const auto& points = series.by_batch;
  if (const auto exact = points.find(batch); exact != points.end()) return Cost{exact->second.nanoseconds};
  if (points.size() < 2) return std::nullopt;

  // Around the means, where the sums do not cancel. Batches differ by at least 1, so `squares` is positive.
  const auto count = static_cast<double>(points.size());
  double mean_batch = 0;
  double mean_time = 0;
  for (const auto& [at, measured] : points) {
    mean_batch += static_cast<double>(at) / count;
    mean_time += static_cast<double>(measured.nanoseconds) / count;
  }
  double squares = 0;
  double products = 0;
  for (const auto& [at, measured] : points) {
    const double distance = static_cast<double>(at) - mean_batch;
    squares += distance * distance;
    products += distance * (static_cast<double>(measured.nanoseconds) - mean_time);
  }
  return whole_cost(mean_time + products / squares * (static_cast<double>(batch) - mean_batch));
}

Result<std::vector<Cost>> profile_costs(const Graph& graph, const Profile& profile, std::int64_t batch) {
  const Times times(profile, batch);
  std::vector<Cost> costs;
  costs.reserve(graph.op_count());
  Tally missing;
  Tally too_few;
  for (const OpId op : graph.ops()) {
    const std::optional<std::optional<Cost>> found = times.find(graph, op);
    if (!found) missing.add(graph, op);
    if (found && !*found) too_few.add(graph, op);
    costs.push_back(found.value_or(std::nullopt).value_or(Cost{0}));
  }
  if (missing.empty() && too_few.empty()) return costs;

  std::vector<std::string> lacks;
  if (!missing.empty()) lacks.push_back("no measurement of " + missing.text());
  if (!too_few.empty()) lacks.push_back("only one measurement, at another batch, of " + too_few.text());
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}; measure them at batch {}, or at two batch sizes for a fit",
                           fmt::join(lacks, ", and "), batch)};
}

}  // namespace checkmate
