#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/units.h"
#include "plot/canvas.h"

/// What all charts share: the sheet's layout, scales and their ticks, legends.
namespace checkmate::plot {

inline constexpr Colour kInk = {0x222222};
inline constexpr Colour kFaint = {0x777777};
inline constexpr Colour kGrid = {0xE3E3E3};
inline constexpr Colour kGrey = {0x9A9A9A};
// Of Okabe and Ito.
inline constexpr Colour kBlue = {0x0072B2};
inline constexpr Colour kVermillion = {0xD55E00};
inline constexpr Colour kGreen = {0x009E73};
inline constexpr Colour kOrange = {0xE69F00};
inline constexpr Colour kSky = {0x56B4E9};
inline constexpr Colour kPurple = {0xCC79A7};

inline constexpr Font kTitleFont = {.size = 13, .colour = kInk, .bold = true};
inline constexpr Font kTextFont = {.size = 9.5, .colour = kInk};
inline constexpr Font kTickFont = {.size = 9, .colour = {0x555555}};
inline constexpr double kMargin = 14;

/// Values from `low` to `high` on the sheet from `from` to `to`.
struct Scale {
  double low, high, from, to;
  double operator()(double value) const {
    return high == low ? from : from + (to - from) * (value - low) / (high - low);
  }
};

/// Round numbers from `low` to `high`, about `about` of them; `decimals` to write them with.
struct Ticks {
  std::vector<double> values;
  int decimals = 0;
  double step = 1;
  std::string text(std::size_t i) const;
};
Ticks round_ticks(double low, double high, double about);

/// The unit in which an axis that goes to `largest` reads best.
struct ByteUnit {
  std::string_view name;
  double bytes;
  double of(Bytes amount) const { return static_cast<double>(amount.count()) / bytes; }
};
ByteUnit byte_unit(Bytes largest);

/// The sizes asked for, or what suits the picture; an error where they are out of range.
struct Size {
  double width, height;
};
Result<Size> picture_size(const PictureOptions& options, double width, double height);

/// The title, cut to the sheet; returns the y below it.
double draw_title(Canvas& canvas, std::string_view title);

/// Whether titles and legends leave enough room to draw in, or what to say where they do not.
bool has_room(const Box& area);
Error too_small();

struct LegendItem {
  std::string text;
  std::function<void(Box swatch)> draw = {};  ///< none: only words
};
/// Side by side from the left, in as many rows as it takes; returns the y below them.
double draw_legend(Canvas& canvas, double top, const std::vector<LegendItem>& items);

/// Lines across the chart at the ticks of the value axis, with their numbers, and the axis's name above it.
void draw_value_axis(Canvas& canvas, const Box& area, const Scale& scale, const Ticks& ticks,
                     std::string_view suffix, std::string_view name);
/// Numbers below the chart, and the axis's name below them at the right end.
void draw_base_axis(Canvas& canvas, const Box& area, const Scale& scale, const Ticks& ticks,
                    std::string_view name);

}  // namespace checkmate::plot
