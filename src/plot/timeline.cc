#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkmate/plot.h"
#include "checkmate/simulate.h"
#include "checkmate/solve.h"
#include "core/text.h"
#include "core/try.h"
#include "plot/axes.h"

namespace checkmate {
namespace {

using namespace plot;

/// Memory as a staircase, step i from i to i + 1. Where there are more steps than the eye can tell apart, the
/// least and the most of each stretch, so that no peak is lost.
std::vector<Point> staircase(const std::vector<Bytes>& memory, const Scale& x, const Scale& y,
                             const ByteUnit& unit) {
  const auto stretches = static_cast<std::size_t>(std::max(1.0, 3 * (x.to - x.from)));
  std::vector<Point> points;
  if (memory.size() <= stretches) {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const double height = y(unit.of(memory[i]));
      points.push_back({x(static_cast<double>(i)), height});
      points.push_back({x(static_cast<double>(i + 1)), height});
    }
    return points;
  }
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t begin = i * memory.size() / stretches;
    const std::size_t end = (i + 1) * memory.size() / stretches;
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto [least, most] = std::minmax_element(from, memory.begin() + static_cast<std::ptrdiff_t>(end));
    const double middle = x(static_cast<double>(begin + end) / 2);
    points.push_back({middle, y(unit.of(least < most ? *least : *most))});
    points.push_back({middle, y(unit.of(least < most ? *most : *least))});
  }
  return points;
}

void draw_curve(Canvas& canvas, const Box& area, std::vector<Point> curve, const Stroke& stroke,
                double opacity) {
  std::vector<Point> below = curve;
  below.push_back({curve.back().x, area.bottom()});
  below.push_back({curve.front().x, area.bottom()});
  canvas.fill(below, stroke.colour.with_opacity(opacity));
  canvas.line(curve, stroke);
}

/// Stretches of steps that are not an op's first run, merged where they touch on the sheet.
std::vector<std::pair<double, double>> again(const Graph& graph, const Plan& plan, const Scale& x) {
  std::vector<bool> seen(graph.op_count());
  std::vector<std::pair<double, double>> stretches;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (!seen[plan.steps[i].index()]) {
      seen[plan.steps[i].index()] = true;
      continue;
    }
    const double from = x(static_cast<double>(i));
    const double to = std::max(x(static_cast<double>(i + 1)), from + 0.4);
    if (!stretches.empty() && from <= stretches.back().second + 1e-6) {
      stretches.back().second = std::max(stretches.back().second, to);
    } else {
      stretches.emplace_back(from, to);
    }
  }
  return stretches;
}

std::string more_work(const Graph& graph, Cost cost) {
  const double extra = 100 * (overhead(graph, cost) - 1);
  if (extra == 0) return "no more work";
  return fmt::format("{:.{}f}% more work", extra, extra < 0.095 ? 3 : extra < 10 ? 1 : 0);
}

}  // namespace

Result<std::string> plot_timeline(const Graph& graph, const Plan& plan, std::optional<Bytes> budget,
                                  const PictureOptions& options) {
  CHECKMATE_TRY(const Simulation planned, simulate(graph, plan));
  CHECKMATE_TRY(const Simulation kept, simulate(graph, keep_all_plan(graph)));
  CHECKMATE_TRY(const Size size, picture_size(options, 640, 330));

  const Bytes largest = std::max({planned.peak, kept.peak, budget.value_or(Bytes{0})});
  const ByteUnit unit = byte_unit(largest);
  const auto steps = static_cast<double>(std::max(planned.memory.size(), kept.memory.size()));
  const std::string title = options.title.empty() ? printable(graph.name(), 200) : options.title;
  const std::string kept_text = "keep everything: " + to_string(kept.peak);
  const std::string plan_text =
      fmt::format("plan: {}, {}", to_string(planned.peak), more_work(graph, planned.cost));
  const std::string budget_text = budget ? "budget: " + to_string(*budget) : "";
  Canvas canvas(options.format, size.width, size.height, title,
                fmt::format("Memory over {} steps. {}; {}{}{}.", grouped(std::llround(steps)), kept_text,
                            plan_text, budget ? "; " : "", budget_text));

  const Stroke kept_line = {.colour = kGrey, .width = 1.4};
  const Stroke plan_line = {.colour = kBlue, .width = 1.6};
  const Stroke budget_line = {.colour = kVermillion, .width = 1.2, .dashes = {5, 3}};
  std::vector<LegendItem> legend;
  const auto with_area = [&](const Stroke& stroke, double opacity) {
    return [&canvas, stroke, opacity](const Box& box) {
      canvas.fill(box, stroke.colour.with_opacity(opacity));
      canvas.line({box.left, box.top}, {box.right(), box.top}, stroke);
    };
  };
  legend.push_back({kept_text, with_area(kept_line, 0.16)});
  legend.push_back({plan_text, with_area(plan_line, 0.22)});
  if (budget) {
    legend.push_back({budget_text, [&](const Box& box) {
                        const double y = box.top + box.height / 2;
                        canvas.line({box.left, y}, {box.right(), y}, budget_line);
                      }});
  }
  const bool recomputes = plan.steps.size() > graph.op_count();
  if (recomputes) {
    legend.push_back({counted(plan.steps.size() - graph.op_count(), "recomputed step"), [&](const Box& box) {
                        canvas.fill({box.left, box.top + 2, box.width, 5}, kOrange);
                      }});
  }
  const double top = draw_legend(canvas, draw_title(canvas, title) + 4, legend) + 22;

  const double high = unit.of(largest) * 1.04;
  const Ticks memory_ticks = round_ticks(0, high == 0 ? 1 : high, (size.height - top - 50) / 44);
  double label_width = 0;
  for (std::size_t i = 0; i < memory_ticks.values.size(); ++i)
    label_width = std::max(label_width, canvas.width_of(memory_ticks.text(i), kTickFont));
  const double left = kMargin + label_width + 6;
  const double strip = recomputes ? 8 : 0;  // between the memory and the axis
  const Box area = {left, top, size.width - left - kMargin - 4, size.height - top - 42 - strip};
  const Scale x = {0, steps, area.left, area.right()};
  const Scale y = {0, high == 0 ? 1 : high, area.bottom(), area.top};
  draw_value_axis(canvas, area, y, memory_ticks, "", fmt::format("memory, {}", unit.name));
  draw_curve(canvas, area, staircase(kept.memory, x, y, unit), kept_line, 0.16);
  draw_curve(canvas, area, staircase(planned.memory, x, y, unit), plan_line, 0.22);
  if (budget) {
    const double height = y(unit.of(*budget));
    canvas.line({area.left, height}, {area.right(), height}, budget_line);
  }
  if (recomputes) {
    for (const auto& [from, to] : again(graph, plan, x))
      canvas.fill(Box{from, area.bottom() + 2, to - from, 5}, kOrange);
  }
  Ticks step_ticks = round_ticks(0, steps, area.width / 80);
  if (step_ticks.step < 1) step_ticks = round_ticks(0, steps, steps);  // there are no half steps
  draw_base_axis(canvas, {area.left, area.top, area.width, area.height + strip}, x, step_ticks, "step");
  return canvas.finish();
}

}  // namespace checkmate
