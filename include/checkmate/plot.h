#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/stage_map.h"
#include "checkmate/sweep.h"

#pragma GCC visibility push(default)
/// Pictures for papers and docs. Functions give the bytes of a file, the same for the same input, but for the
/// ids inside an SVG, which count up in a process; what they draw is legible for one op and for tens of
/// thousands. Colours are those of Okabe and Ito, which people who are colour-blind can tell apart, and no
/// picture relies on colour alone where it has more than three.
namespace checkmate {

enum class PictureFormat : std::uint8_t { kSvg, kPng, kPdf };
/// From the end of the file's name, in upper or lower case: `.svg`, `.png` or `.pdf`.
Result<PictureFormat> picture_format(const std::filesystem::path& path);

struct PictureOptions {
  PictureFormat format = PictureFormat::kSvg;
  std::string title = {};  ///< above the picture; without one, what the picture shows
  /// In points (1/72 inch), from 240 to 4000; 0: depends on the picture. A PNG has two pixels per point.
  double width = 0;
  double height = 0;
};

/// Memory over the steps of keep-all and of the plan, with the budget as a line, and below them a mark for
/// each step that recomputes.
Result<std::string> plot_timeline(const Graph& graph, const Plan& plan, std::optional<Bytes> budget,
                                  const PictureOptions& options = {});

/// Stages against ops, one panel per plan: first runs, recomputations and what is kept.
struct MapPanel {
  std::string label;
  StageMap map;
};
Result<std::string> plot_map(std::span<const MapPanel> panels, const PictureOptions& options = {});

/// What memory costs: the overhead of several methods at several budgets.
struct Tradeoff {
  struct Point {
    Bytes budget;
    double overhead;
    bool operator==(const Point&) const = default;
  };
  struct Method {
    std::string name;
    std::vector<Point> points;  ///< by rising budget; none where it has no plan
  };
  std::vector<Method> methods;
  std::vector<Point> bound = {};  ///< by rising budget: no plan within the budget has a smaller overhead
  std::optional<Bytes> least_budget = {};  ///< no plan fits in less
};
/// The bound is the best that any method proved, for every plan of the order.
Tradeoff tradeoff_of(const Graph& graph, std::span<const SweepPoint> points);
/// From the table that `checkmate sweep` writes.
Result<Tradeoff> parse_tradeoff(std::string_view csv, const std::string& source = "sweep");
/// An error where no method has a plan.
Result<std::string> plot_tradeoff(const Tradeoff& tradeoff, const PictureOptions& options = {});

/// The largest batch of each method, network by network. Where every network has a batch of `keep-all`, bars
/// show multiples of it; a label on each bar shows the batch.
struct BatchBar {
  std::string network;
  std::string method;
  std::int64_t batch = 0;  ///< 0: no batch fits
  bool operator==(const BatchBar&) const = default;
};
/// A table with the columns `network`, `method` and `batch`, and back.
std::string batches_to_csv(std::span<const BatchBar> bars);
Result<std::vector<BatchBar>> parse_batches(std::string_view csv, const std::string& source = "batches");
Result<std::string> plot_max_batch(std::span<const BatchBar> bars, const PictureOptions& options = {});

}  // namespace checkmate
#pragma GCC visibility pop
