#include "plot/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace checkmate::plot {

std::string Ticks::text(std::size_t i) const {
  const double value = values[i] == 0 ? 0 : values[i];  // never -0
  return decimals == 0 && std::abs(value) < 1e15 ? grouped(std::llround(value))
                                                 : fmt::format("{:.{}f}", value, decimals);
}

Ticks round_ticks(double low, double high, double about) {
  constexpr double kFinest = 1e-12;  // of the values themselves; closer ones are the same to a double
  if (!(high - low > kFinest * std::abs(low))) high = low + std::max(1.0, 1e-6 * std::abs(low));
  const double rough = (high - low) / std::max(about, 1.0);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  Ticks ticks{.values = {},
              .decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9))),
              .step = step};
  const double slack = step * 1e-6;
  const double first = std::ceil((low - slack) / step);
  for (int i = 0; (first + i) * step <= high + slack; ++i) ticks.values.push_back((first + i) * step);
  return ticks;
}

ByteUnit byte_unit(Bytes largest) {
  constexpr std::array<std::string_view, 7> kNames = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double bytes = 1;
  // 1,500 MiB reads better than 1.46 GiB, 3,000 does not.
  while (unit + 1 < kNames.size() && static_cast<double>(largest.count()) >= 2 * 1024 * bytes) {
    bytes *= 1024;
    ++unit;
  }
  return {kNames.at(unit), bytes};
}

Result<Size> picture_size(const PictureOptions& options, double width, double height) {
  const auto fits = [](double length) { return length == 0 || (length >= 240 && length <= 4000); };
  if (!fits(options.width) || !fits(options.height)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a picture must be 240 to 4000 points wide and high, not {} x {}", options.width,
                             options.height)};
  }
  return Size{options.width == 0 ? width : options.width, options.height == 0 ? height : options.height};
}

bool has_room(const Box& area) { return area.width >= 60 && area.height >= 60; }

Error too_small() {
  return {ErrorCode::kInvalidArgument,
          "the picture is too small for all the names; make it larger, or leave some out"};
}

double draw_title(Canvas& canvas, std::string_view title) {
  if (title.empty()) return kMargin;
  const std::string fitted = canvas.fitted(title, kTitleFont, canvas.sheet().width - 2 * kMargin);
  canvas.text({kMargin, kMargin + 11}, fitted, kTitleFont);
  return kMargin + 18;
}

double draw_legend(Canvas& canvas, double top, const std::vector<LegendItem>& items) {
  constexpr double kSwatch = 16;
  constexpr double kRow = 15;
  double x = kMargin;
  double y = top;
  for (const LegendItem& item : items) {
    const double room = canvas.sheet().width - 2 * kMargin - kSwatch - 6;
    const std::string text = canvas.fitted(item.text, kTextFont, room);
    const double swatch = item.draw ? kSwatch + 6 : 0;
    const double width = swatch + canvas.width_of(text, kTextFont);
    if (x > kMargin && x + width > canvas.sheet().width - kMargin) {
      x = kMargin;
      y += kRow;
    }
    if (item.draw) item.draw({x, y + 2, kSwatch, 9});
    canvas.text({x + swatch, y + 10}, text, kTextFont);
    x += width + 18;
  }
  return items.empty() ? top : y + kRow;
}

void draw_value_axis(Canvas& canvas, const Box& area, const Scale& scale, const Ticks& ticks,
                     std::string_view suffix, std::string_view name) {
  for (std::size_t i = 0; i < ticks.values.size(); ++i) {
    const double y = scale(ticks.values[i]);
    canvas.line({area.left, y}, {area.right(), y}, {.colour = kGrid, .width = 0.7});
    canvas.text({area.left - 6, y + 3.2}, ticks.text(i) + std::string(suffix), kTickFont, Align::kRight);
  }
  canvas.text({kMargin, area.top - 9}, name, kTickFont);
}

void draw_base_axis(Canvas& canvas, const Box& area, const Scale& scale, const Ticks& ticks,
                    std::string_view name) {
  canvas.line({area.left, area.bottom()}, {area.right(), area.bottom()},
              {.colour = {0x555555}, .width = 0.9});
  for (std::size_t i = 0; i < ticks.values.size(); ++i) {
    const double x = scale(ticks.values[i]);
    canvas.line({x, area.bottom()}, {x, area.bottom() + 3.5}, {.colour = {0x555555}, .width = 0.9});
    canvas.text({x, area.bottom() + 14}, ticks.text(i), kTickFont, Align::kCentre);
  }
  canvas.text({area.right(), area.bottom() + 27}, name, kTickFont, Align::kRight);
}

}  // namespace checkmate::plot
