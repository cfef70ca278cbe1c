#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkmate/plot.h"
#include "core/text.h"
#include "core/try.h"
#include "plot/axes.h"

namespace checkmate {
namespace {

using namespace plot;

constexpr Colour kKept = {0xCFE2F0};

/// Fewest points that a cell is high and wide; with smaller ones the map is drawn in pixels.
constexpr double kSmallestCell = 1;

void draw_cells(Canvas& canvas, const Box& area, const StageMap& map) {
  const double width = area.width / static_cast<double>(map.ops.size());
  const double height = area.height / map.stages;
  // White between the cells where there is room for it; a stay is one bar over its stages.
  const double gap = std::min(width, height) >= 4 ? 0.6 : 0;
  // Without it neighbours overlap a little: else the page would shine through between them.
  const double seam = gap > 0 ? 0 : 0.15;
  const auto fill = [&](double place, double first, double last, const Colour& colour) {
    canvas.fill(Box{area.left + width * place + gap / 2, area.top + height * first + gap / 2,
                    width - gap + seam, height * (last - first + 1) - gap},
                colour);
  };
  for (const StageMap::Stay& stay : map.kept) fill(stay.place, stay.first, stay.last, kKept);
  for (std::uint32_t i = 0; i < map.ops.size(); ++i) fill(i, i, i, kBlue);
  for (const StageMap::Run& run : map.recomputed) fill(run.place, run.stage, run.stage, kVermillion);
}

/// Several cells per pixel: it shows the rarest of what is there, so that no recomputation is lost.
void draw_pixels(Canvas& canvas, const Box& area, const StageMap& map) {
  const std::size_t wide = std::min(map.ops.size(), static_cast<std::size_t>(area.width));
  const std::size_t high = std::min<std::size_t>(map.stages, static_cast<std::size_t>(area.height));
  const auto column = [&](std::uint32_t place) { return place * wide / map.ops.size(); };
  const auto row = [&](std::uint32_t stage) { return stage * high / map.stages; };
  Raster raster{.width = static_cast<int>(wide),
                .height = static_cast<int>(high),
                .pixels = std::vector<Colour>(wide * high, Colour{0, 0})};
  for (const StageMap::Stay& stay : map.kept) {
    for (std::size_t y = row(stay.first); y <= row(stay.last); ++y)
      raster.pixels[y * wide + column(stay.place)] = kKept;
  }
  for (std::uint32_t i = 0; i < map.ops.size(); ++i) raster.pixels[row(i) * wide + column(i)] = kBlue;
  for (const StageMap::Run& run : map.recomputed)
    raster.pixels[row(run.stage) * wide + column(run.place)] = kVermillion;
  canvas.image(area, raster);
}

/// Whole numbers only, from the middles of cells.
void draw_numbers(Canvas& canvas, const Box& area, const StageMap& map, bool stages) {
  const auto place_ticks = round_ticks(0, static_cast<double>(map.ops.size() - 1), area.width / 45);
  const auto stage_ticks = round_ticks(0, map.stages - 1, area.height / 45);
  const auto whole = [](double value) { return std::abs(value - std::round(value)) < 1e-9; };
  const double width = area.width / static_cast<double>(map.ops.size());
  for (const double value : place_ticks.values) {
    if (!whole(value) || value >= static_cast<double>(map.ops.size())) continue;
    canvas.text({area.left + width * (value + 0.5), area.bottom() + 12}, grouped(std::llround(value)),
                kTickFont, Align::kCentre);
  }
  for (const double value : stage_ticks.values) {
    if (!stages || !whole(value) || value >= map.stages) continue;
    canvas.text({area.left - 5, area.top + area.height / map.stages * (value + 0.5) + 3.2},
                grouped(std::llround(value)), kTickFont, Align::kRight);
  }
}

std::string told(const MapPanel& panel) {
  return fmt::format("{}{}{} in {}, {} recomputed", panel.label, panel.label.empty() ? "" : ": ",
                     counted(panel.map.ops.size(), "op"), counted(panel.map.stages, "stage"),
                     counted(panel.map.recomputed.size(), "run"));
}

}  // namespace

Result<std::string> plot_map(std::span<const MapPanel> panels, const PictureOptions& options) {
  if (panels.empty()) return Error{ErrorCode::kInvalidArgument, "a map needs a plan"};
  for (const MapPanel& panel : panels) {
    const bool whole = !panel.map.ops.empty() && panel.map.stages >= panel.map.ops.size();
    if (!whole) return Error{ErrorCode::kInvalidArgument, "a map needs one stage per op"};
  }
  const auto count = static_cast<double>(panels.size());
  const double wide = panels.size() == 1 ? 440 : 40 + 230 * count;
  const std::string title = options.title.empty() && panels.size() == 1 ? panels[0].label : options.title;
  const bool labels = panels.size() > 1;
  std::uint32_t stages = 0;
  for (const MapPanel& panel : panels) stages = std::max(stages, panel.map.stages);

  constexpr double kBetween = 16;
  const double above = (title.empty() ? kMargin : kMargin + 22) + 15 + (labels ? 38 : 24);
  const double label_width = 10 + 6 * static_cast<double>(grouped(stages - 1).size());
  const double left = kMargin + label_width;
  CHECKMATE_TRY(const Size suits, picture_size(options, wide, 0));
  const double square = (suits.width - left - kMargin - kBetween * (count - 1)) / count;
  CHECKMATE_TRY(const Size size, picture_size(options, wide, above + std::max(square, 60.0) + 34));
  if (square < 20)
    return Error{ErrorCode::kInvalidArgument, "the picture is too narrow for all the maps; make it wider"};

  std::string description = "Stages against ops.";
  for (const MapPanel& panel : panels) description += fmt::format(" {}.", told(panel));
  Canvas canvas(options.format, size.width, size.height, title, description);
  const auto swatch = [&](const Colour& colour) {
    return [&canvas, colour](const Box& box) { canvas.fill(Box{box.left + 3, box.top, 10, 9}, colour); };
  };
  const double below = draw_legend(canvas, draw_title(canvas, title) + 4,
                                   {{"runs for the first time", swatch(kBlue)},
                                    {"recomputed", swatch(kVermillion)},
                                    {"kept in memory", swatch(kKept)}});
  const double top = below + (labels ? 38 : 24);
  canvas.text({kMargin, top - 7}, "stage", kTickFont);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const MapPanel& panel = panels[i];
    const Box area = {left + static_cast<double>(i) * (square + kBetween), top, square,
                      size.height - top - 34};
    if (labels) {
      const Font font = {.size = 10, .colour = kInk, .bold = true};
      canvas.text({area.left, top - 22}, canvas.fitted(panel.label, font, square), font);
    }
    const bool cells = square / static_cast<double>(panel.map.ops.size()) >= kSmallestCell &&
                       area.height / panel.map.stages >= kSmallestCell;
    cells ? draw_cells(canvas, area, panel.map) : draw_pixels(canvas, area, panel.map);
    canvas.frame(area, {.colour = {0xBBBBBB}, .width = 0.6});
    draw_numbers(canvas, area, panel.map, i == 0);
    if (i + 1 == panels.size()) {
      canvas.text({area.right(), area.bottom() + 25}, "op, in the order of first runs", kTickFont,
                  Align::kRight);
    }
  }
  return canvas.finish();
}

}  // namespace checkmate
