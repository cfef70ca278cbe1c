#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "checkmate/plot.h"
#include "checkmate/simulate.h"
#include "core/try.h"
#include "plot/axes.h"

namespace checkmate {
namespace {

using namespace plot;

constexpr std::array kColours = {kVermillion,      kGreen, kOrange,          kPurple,
                                 Colour{0x222222}, kSky,   Colour{0x8C6D31}, Colour{0x777777}};

/// Methods that do the same at every budget, as one; what it looks like.
struct Series {
  std::string names;
  const std::vector<Tradeoff::Point>* points;
  Colour colour;
  std::size_t shape;
  double width = 1.3;
};

std::vector<Series> series_of(const Tradeoff& tradeoff) {
  std::vector<Series> all;
  for (const Tradeoff::Method& method : tradeoff.methods) {
    if (method.points.empty()) continue;
    auto same = std::find_if(all.begin(), all.end(),
                             [&](const Series& other) { return *other.points == method.points; });
    if (same != all.end()) {
      same->names += ", " + method.name;
    } else {
      const Colour colour = kColours.at(all.size() % kColours.size());
      same = all.insert(same, {method.name, &method.points, colour, 1 + all.size()});
    }
    // Ours, when it is there, is what the picture is about.
    if (method.name == "auto") {
      same->colour = kBlue;
      same->shape = 0;
      same->width = 2;
    }
  }
  return all;
}

std::string without_plans(const Tradeoff& tradeoff) {
  std::string names;
  for (const Tradeoff::Method& method : tradeoff.methods) {
    if (method.points.empty()) names += (names.empty() ? "without a plan: " : ", ") + method.name;
  }
  return names;
}

/// One shape per method, so that colour is not needed.
void draw_mark(Canvas& canvas, std::size_t shape, Point at, const Colour& colour) {
  constexpr double kRadius = 3.2;
  const auto corners = [&](std::initializer_list<Point> unit) {
    std::vector<Point> points;
    for (const Point& p : unit) points.push_back({at.x + kRadius * p.x, at.y + kRadius * p.y});
    canvas.fill(points, colour);
  };
  switch (shape % 7) {
    case 0: {
      std::vector<Point> round;
      for (int i = 0; i < 24; ++i) {
        const double angle = 2 * 3.14159265358979 * i / 24;
        round.push_back({at.x + kRadius * std::cos(angle), at.y + kRadius * std::sin(angle)});
      }
      return canvas.fill(round, colour);
    }
    case 1:
      return corners({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
    case 2:
      return corners({{0, -1.2}, {1.1, .9}, {-1.1, .9}});
    case 3:
      return corners({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
    case 4:
      return corners({{0, 1.2}, {1.1, -.9}, {-1.1, -.9}});
    case 5: {
      const Stroke stroke = {.colour = colour, .width = 1.6};
      canvas.line({at.x - kRadius, at.y - kRadius}, {at.x + kRadius, at.y + kRadius}, stroke);
      return canvas.line({at.x - kRadius, at.y + kRadius}, {at.x + kRadius, at.y - kRadius}, stroke);
    }
    default: {
      const Stroke stroke = {.colour = colour, .width = 1.8};
      canvas.line({at.x - 1.2 * kRadius, at.y}, {at.x + 1.2 * kRadius, at.y}, stroke);
      return canvas.line({at.x, at.y - 1.2 * kRadius}, {at.x, at.y + 1.2 * kRadius}, stroke);
    }
  }
}

/// Where the overhead's axis ends. One method that is far off at one budget must not press all else flat: it
/// is then drawn at the edge, with its number.
double highest_shown(const Tradeoff& tradeoff) {
  std::vector<double> extra;
  for (const Tradeoff::Method& method : tradeoff.methods) {
    for (const Tradeoff::Point& point : method.points) extra.push_back(point.overhead - 1);
  }
  std::sort(extra.begin(), extra.end());
  const double usual = extra[(extra.size() - 1) * 9 / 10];
  const double shown =
      usual > 0 ? *(std::upper_bound(extra.begin(), extra.end(), 3 * usual) - 1) : extra.back();
  return 1 + (shown > 0 ? 1.06 * shown : 0.01);
}

/// Below the bound there is no plan, and left of the least budget none at all. A bound for more memory holds
/// for less, so between two budgets it is that of the larger.
std::vector<Point> no_plans(const Tradeoff& tradeoff, const Scale& x, const Scale& y, const ByteUnit& unit) {
  std::vector<Point> region = {{x.from, y.from}};
  double left = x.low;
  if (tradeoff.least_budget && unit.of(*tradeoff.least_budget) > x.low) {
    left = std::min(unit.of(*tradeoff.least_budget), x.high);
    region.push_back({x.from, y.to});
    region.push_back({x(left), y.to});
  }
  for (const Tradeoff::Point& point : tradeoff.bound) {
    const double at = std::clamp(unit.of(point.budget), left, x.high);
    const double height = y(std::clamp(point.overhead, y.low, y.high));
    region.push_back({x(left), height});
    region.push_back({x(at), height});
    left = at;
  }
  region.push_back({x(left), y.from});
  return region;
}

void draw_swatch(Canvas& canvas, const Series& series, const Box& box) {
  const double y = box.top + box.height / 2;
  canvas.line({box.left, y}, {box.right(), y},
              {.colour = series.colour.with_opacity(0.8), .width = series.width});
  draw_mark(canvas, series.shape, {box.left + box.width / 2, y}, series.colour);
}

void draw_series(Canvas& canvas, const Series& series, const Scale& x, const Scale& y, const ByteUnit& unit) {
  std::vector<Point> line;
  for (const Tradeoff::Point& point : *series.points)
    line.push_back({x(unit.of(point.budget)), y(point.overhead)});
  canvas.clip({x.from - 5, y.to, x.to - x.from + 10, y.from - y.to + 5});
  if (line.size() > 1) canvas.line(line, {.colour = series.colour.with_opacity(0.8), .width = series.width});
  canvas.unclip();
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double value = (*series.points)[i].overhead;
    if (value <= y.high) {
      draw_mark(canvas, series.shape, line[i], series.colour);
      continue;
    }
    const Point tip = {line[i].x, y.to};
    const Point arrow[] = {tip, {tip.x - 3.5, tip.y + 6}, {tip.x + 3.5, tip.y + 6}};
    canvas.fill(arrow, series.colour);
    canvas.text({tip.x + 6, tip.y + 7}, fmt::format("{:.{}f}x", value, value < 10 ? 2 : 0),
                {.size = 8, .colour = series.colour});
  }
}

}  // namespace

Tradeoff tradeoff_of(const Graph& graph, std::span<const SweepPoint> points) {
  Tradeoff tradeoff;
  std::map<Bytes, double> bound;
  for (const SweepPoint& point : points) {
    if (tradeoff.methods.empty() || tradeoff.methods.back().name != point.method)
      tradeoff.methods.push_back({point.method, {}});
    const SolveResult& result = point.result;
    if (result.plan) tradeoff.methods.back().points.push_back({point.budget, overhead(graph, *result.cost)});
    if (result.status == Status::kInfeasible) {
      if (result.needed)
        tradeoff.least_budget = std::max(*result.needed, tradeoff.least_budget.value_or(Bytes{0}));
      continue;
    }
    double& best = bound.try_emplace(point.budget, 1).first->second;
    best = std::max(best, overhead(graph, result.lower_bound));
  }
  for (const auto& [budget, least] : bound) tradeoff.bound.push_back({budget, least});
  return tradeoff;
}

Result<std::string> plot_tradeoff(const Tradeoff& tradeoff, const PictureOptions& options) {
  Bytes smallest{INT64_MAX};
  Bytes largest{0};
  for (const Tradeoff::Method& method : tradeoff.methods) {
    for (const Tradeoff::Point& point : method.points) {
      if (!(std::isfinite(point.overhead) && point.overhead >= 1)) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("an overhead must be 1 or more, got {}", point.overhead)};
      }
      smallest = std::min(smallest, point.budget);
      largest = std::max(largest, point.budget);
    }
  }
  if (largest < smallest)
    return Error{ErrorCode::kInvalidArgument, "no method has a plan, so there is nothing to draw"};
  CHECKMATE_TRY(const Size size, picture_size(options, 640, 360));

  const ByteUnit unit = byte_unit(largest);
  const std::string title = options.title.empty() ? "Overhead against budget" : options.title;
  std::string names;
  for (const Tradeoff::Method& method : tradeoff.methods) names += (names.empty() ? "" : ", ") + method.name;
  Canvas canvas(options.format, size.width, size.height, title,
                fmt::format("Overhead against a budget from {} to {}: {}.", to_string(smallest),
                            to_string(largest), names));
  const std::vector<Series> all = series_of(tradeoff);
  std::vector<LegendItem> legend;
  legend.reserve(all.size() + 2);
  for (const Series& series : all) {
    legend.push_back({series.names, [&](const Box& box) { draw_swatch(canvas, series, box); }});
  }
  constexpr Colour kNone = {0xE9E6E1};
  if (!tradeoff.bound.empty() || tradeoff.least_budget) {
    legend.push_back({"proven: no plan", [&](const Box& box) { canvas.fill(box, kNone); }});
  }
  if (const std::string none = without_plans(tradeoff); !none.empty()) legend.push_back({none, {}});
  const double top = draw_legend(canvas, draw_title(canvas, title) + 4, legend) + 22;

  const double high = highest_shown(tradeoff);
  const Ticks overhead_ticks = round_ticks(1, high, (size.height - top - 50) / 40);
  double label_width = 0;
  for (std::size_t i = 0; i < overhead_ticks.values.size(); ++i)
    label_width = std::max(label_width, canvas.width_of(overhead_ticks.text(i) + "x", kTickFont));
  const double left = kMargin + label_width + 6;
  const Box area = {left, top, size.width - left - kMargin - 8, size.height - top - 42};
  if (!has_room(area)) return too_small();
  double low_budget = unit.of(smallest);
  double high_budget = unit.of(largest);
  const double edge =
      largest == smallest ? std::max(0.05 * high_budget, 1e-9) : 0.05 * (high_budget - low_budget);
  low_budget -= edge;
  high_budget += edge;
  const Scale x = {low_budget, high_budget, area.left, area.right()};
  const Scale y = {1, high, area.bottom(), area.top};
  canvas.fill(no_plans(tradeoff, x, y, unit), kNone);
  draw_value_axis(canvas, area, y, overhead_ticks, "x", "overhead: cost / keep-all's cost");
  for (const Series& series : all) draw_series(canvas, series, x, y, unit);
  draw_base_axis(canvas, area, x, round_ticks(low_budget, high_budget, area.width / 70),
                 fmt::format("budget, {}", unit.name));
  return canvas.finish();
}

}  // namespace checkmate
