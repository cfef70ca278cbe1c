#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"

namespace checkmate {

/// Measured times of ops on one device: a `checkmate.profile` file (docs/file_formats.md).
struct Profile {
  struct Measurement {
    std::int64_t nanoseconds;
    std::int64_t spread;  ///< nanoseconds, for people: no cost depends on it
    bool operator==(const Measurement&) const = default;
  };
  /// One op, or all ops of a kind and a shape, at one batch size or several.
  struct Series {
    std::string op;     ///< the op's name; empty: kind and shape identify the ops
    std::string kind;   ///< as Graph::kind()
    std::string shape;  ///< as shape_at() reads it
    std::map<std::int64_t, Measurement> by_batch;
  };
  std::string device;
  std::vector<Series> series;  ///< in the order of the file
};

/// The file's text; errors name `source` as the file.
Result<Profile> parse_profile(std::string text, const std::string& source);

/// A batch size, 1 to 2^30: a fit through larger ones would lose whole samples to rounding.
inline constexpr std::int64_t kLargestBatch = std::int64_t{1} << 30;
std::optional<std::int64_t> parse_batch(std::string_view text);

/// The batch in a name such as `resnet50?size=64&batch=32`.
std::optional<std::int64_t> batch_in_name(std::string_view graph_name);

/// A shape is the bytes of an op's inputs and outputs as functions of the batch: `602112n,9408->3211264n` is
/// an op that reads 602112 bytes per sample and 9408 in any case, and makes 3211264 bytes per sample. This is
/// the shape at one batch, without n: `4n,8->4n` at 10 is `40,8->40`. Nothing for a text that is not a shape.
std::optional<std::string> shape_at(std::string_view shape, std::int64_t batch);

/// The time at a batch: the measured one, or the value of the least-squares line through all measurements,
/// at least 0. Nothing where there is no such measurement and fewer than two others.
std::optional<Cost> time_at(const Profile::Series& series, std::int64_t batch);

/// Nanoseconds per op of a graph with this batch. An op's own series takes precedence over its kind and
/// shape, and the first match in the file counts. An error where ops are left without a time.
Result<std::vector<Cost>> profile_costs(const Graph& graph, const Profile& profile, std::int64_t batch);

}  // namespace checkmate
