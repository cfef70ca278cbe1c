#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/plot.h"
#include "checkmate/result.h"

namespace checkmate::plot {

/// Points (1/72 inch) from the upper left corner.
struct Point {
  double x;
  double y;
};

struct Box {
  double left, top, width, height;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

struct Colour {
  std::uint32_t rgb;
  double opacity = 1;
  Colour with_opacity(double other) const { return {rgb, other}; }
};

struct Stroke {
  Colour colour;
  double width = 1;
  std::vector<double> dashes = {};  ///< lengths on and off; none: a whole line
};

struct Font {
  double size = 9;
  Colour colour = {0x333333};
  bool bold = false;
};
enum class Align : std::uint8_t { kLeft, kCentre, kRight };

/// Pixels for a picture in the picture, row by row from the top; opacity 0 shows what is below.
struct Raster {
  int width = 0;
  int height = 0;
  std::vector<Colour> pixels = {};
};

/// A sheet to draw on, white at first. The only one that knows cairo, which makes all formats.
class Canvas {
 public:
  /// The title and the description are for those who cannot see the picture, and for a PDF's properties.
  Canvas(PictureFormat format, double width, double height, std::string_view title,
         std::string_view description);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  Box sheet() const { return {0, 0, width_, height_}; }

  void fill(const Box& box, const Colour& colour);
  void fill(std::span<const Point> polygon, const Colour& colour);
  void line(std::span<const Point> points, const Stroke& stroke);
  void line(Point from, Point to, const Stroke& stroke);
  void frame(const Box& box, const Stroke& stroke);
  /// Shown without smoothing: a pixel is a rectangle.
  void image(const Box& box, const Raster& raster);
  /// `at` is on the line that the letters stand on. Bytes that are not UTF-8 are shown as `?`.
  void text(Point at, std::string_view text, const Font& font, Align align = Align::kLeft);
  /// The same, reading upwards.
  void turned_text(Point at, std::string_view text, const Font& font);
  double width_of(std::string_view text, const Font& font);
  /// The text, or as much of its beginning as fits the width, with `...`.
  std::string fitted(std::string_view text, const Font& font, double width);

  /// Draws only inside the box until unclip().
  void clip(const Box& box);
  void unclip();

  /// The file's bytes; nothing can be drawn afterwards.
  Result<std::string> finish();

 private:
  struct State;
  double width_, height_;
  std::unique_ptr<State> state_;
};

/// The text with everything that is not UTF-8, and control characters, as `?`.
std::string clean(std::string_view text);

}  // namespace checkmate::plot
