#include "plot/canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#ifdef __SANITIZE_ADDRESS__
// fontconfig keeps what it read of the fonts until the program ends, where only it can find it. It is a
// library of the system, or inside of the program.
#pragma GCC visibility push(default)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\nleak:FcPattern\nleak:FcValueSave";
}
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#pragma GCC visibility pop
#endif

namespace checkmate::plot {
namespace {

constexpr double kPixelsPerPoint = 2;  // of PNG: sharp on today's screens and in print at half a page

cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

std::string escaped(std::string_view text) {
  std::string xml;
  for (const char c : text) {
    switch (c) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      default:
        xml += c;
    }
  }
  return xml;
}

/// The length of the UTF-8 sequence at the text's beginning; 0 where there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80                      ? 1
                             : byte(0) >= 0xC2 && byte(0) < 0xE0 ? 2
                             : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                             : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                                 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool outside = (byte(0) == 0xED && byte(1) >= 0xA0) || (byte(0) == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

/// A character that Unicode never assigns, and that cairo refuses.
bool is_noncharacter(std::string_view sequence) {
  std::uint32_t code = static_cast<unsigned char>(sequence[0]) & (0xFFU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  return sequence.size() > 2 && ((code & 0xFFFEU) == 0xFFFEU || (code >= 0xFDD0U && code <= 0xFDEFU));
}

}  // namespace

std::string clean(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F || is_noncharacter(text.substr(0, length))) {
      valid += '?';
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

struct Canvas::State {
  PictureFormat format;
  std::string title, description, bytes;
  cairo_surface_t* surface = nullptr;
  cairo_t* pen = nullptr;

  void use(const Colour& colour) const {
    const auto part = [&](unsigned shift) {
      return static_cast<double>((colour.rgb >> shift) & 0xFFU) / 255;
    };
    cairo_set_source_rgba(pen, part(16), part(8), part(0), colour.opacity);
  }
  void use(const Font& font) const {
    cairo_select_font_face(pen, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(pen, font.size);
  }
  void trace(std::span<const Point> points) const {
    for (const Point& point : points) cairo_line_to(pen, point.x, point.y);
  }
  void stroke(const Stroke& stroke) const {
    use(stroke.colour);
    cairo_set_line_width(pen, stroke.width);
    cairo_set_dash(pen, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
    cairo_stroke(pen);
  }
};

Canvas::Canvas(PictureFormat format, double width, double height, std::string_view title,
               std::string_view description)
    : width_(width), height_(height), state_(std::make_unique<State>()) {
  State& s = *state_;
  s.format = format;
  s.title = clean(title);
  s.description = clean(description);
  switch (format) {
    case PictureFormat::kSvg:
      s.surface = cairo_svg_surface_create_for_stream(append, &s.bytes, width, height);
      break;
    case PictureFormat::kPdf:
      s.surface = cairo_pdf_surface_create_for_stream(append, &s.bytes, width, height);
      cairo_pdf_surface_set_metadata(s.surface, CAIRO_PDF_METADATA_TITLE, s.title.c_str());
      cairo_pdf_surface_set_metadata(s.surface, CAIRO_PDF_METADATA_SUBJECT, s.description.c_str());
      // The same picture is the same file, whenever it is drawn.
      cairo_pdf_surface_set_metadata(s.surface, CAIRO_PDF_METADATA_CREATE_DATE, "2020-01-01T00:00:00Z");
      break;
    case PictureFormat::kPng:
      s.surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                             static_cast<int>(std::lround(width * kPixelsPerPoint)),
                                             static_cast<int>(std::lround(height * kPixelsPerPoint)));
      cairo_surface_set_device_scale(s.surface, kPixelsPerPoint, kPixelsPerPoint);
      break;
  }
  s.pen = cairo_create(s.surface);
  cairo_set_line_join(s.pen, CAIRO_LINE_JOIN_ROUND);
  // Letters as wide in every format as in print.
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(s.pen, options);
  cairo_font_options_destroy(options);
  fill(sheet(), {0xFFFFFF});
}

Canvas::~Canvas() {
  cairo_destroy(state_->pen);
  cairo_surface_destroy(state_->surface);
}

void Canvas::fill(const Box& box, const Colour& colour) {
  state_->use(colour);
  cairo_rectangle(state_->pen, box.left, box.top, box.width, box.height);
  cairo_fill(state_->pen);
}

void Canvas::fill(std::span<const Point> polygon, const Colour& colour) {
  state_->use(colour);
  state_->trace(polygon);
  cairo_fill(state_->pen);
}

void Canvas::line(std::span<const Point> points, const Stroke& stroke) {
  state_->trace(points);
  state_->stroke(stroke);
}

void Canvas::line(Point from, Point to, const Stroke& stroke) {
  const Point both[] = {from, to};
  line(both, stroke);
}

void Canvas::frame(const Box& box, const Stroke& stroke) {
  cairo_rectangle(state_->pen, box.left, box.top, box.width, box.height);
  state_->stroke(stroke);
}

void Canvas::image(const Box& box, const Raster& raster) {
  cairo_surface_t* picture = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, raster.width, raster.height);
  unsigned char* const rows = cairo_image_surface_get_data(picture);
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(picture));
  for (int y = 0; rows != nullptr && y < raster.height; ++y) {
    auto* const row = reinterpret_cast<std::uint32_t*>(rows + static_cast<std::size_t>(y) * stride);
    for (int x = 0; x < raster.width; ++x) {
      const Colour& colour =
          raster.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(raster.width) +
                        static_cast<std::size_t>(x)];
      row[x] = colour.opacity > 0 ? 0xFF000000U | colour.rgb : 0;  // opaque or nothing: no premultiplying
    }
  }
  cairo_surface_mark_dirty(picture);
  cairo_save(state_->pen);
  cairo_translate(state_->pen, box.left, box.top);
  cairo_scale(state_->pen, box.width / raster.width, box.height / raster.height);
  cairo_set_source_surface(state_->pen, picture, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(state_->pen), CAIRO_FILTER_NEAREST);
  cairo_paint(state_->pen);
  cairo_restore(state_->pen);
  cairo_surface_destroy(picture);
}

void Canvas::text(Point at, std::string_view text, const Font& font, Align align) {
  const double width = align == Align::kLeft ? 0 : width_of(text, font);
  const double shift = align == Align::kCentre ? width / 2 : width;
  state_->use(font);
  state_->use(font.colour);
  cairo_move_to(state_->pen, at.x - shift, at.y);
  cairo_show_text(state_->pen, clean(text).c_str());
  cairo_new_path(state_->pen);
}

void Canvas::turned_text(Point at, std::string_view text, const Font& font) {
  cairo_save(state_->pen);
  cairo_translate(state_->pen, at.x, at.y);
  cairo_rotate(state_->pen, -std::numbers::pi / 2);
  this->text({0, 0}, text, font);
  cairo_restore(state_->pen);
}

double Canvas::width_of(std::string_view text, const Font& font) {
  state_->use(font);
  cairo_text_extents_t extents;
  cairo_text_extents(state_->pen, clean(text).c_str(), &extents);
  return extents.x_advance;
}

std::string Canvas::fitted(std::string_view text, const Font& font, double width) {
  std::string shown = clean(text.substr(0, 1000));  // more never fits, and takes time to measure
  if (shown.size() == text.size() && width_of(shown, font) <= width) return shown;
  const auto inside_a_letter = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (!shown.empty() && width_of(shown + "...", font) > width) {
    while (inside_a_letter(shown.back())) shown.pop_back();
    shown.pop_back();
  }
  return shown + "...";
}

void Canvas::clip(const Box& box) {
  cairo_save(state_->pen);
  cairo_rectangle(state_->pen, box.left, box.top, box.width, box.height);
  cairo_clip(state_->pen);
}

void Canvas::unclip() { cairo_restore(state_->pen); }

Result<std::string> Canvas::finish() {
  State& s = *state_;
  cairo_status_t status = cairo_status(s.pen);
  if (status == CAIRO_STATUS_SUCCESS && s.format == PictureFormat::kPng)
    status = cairo_surface_write_to_png_stream(s.surface, append, &s.bytes);
  cairo_surface_finish(s.surface);
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(s.surface);
  if (status != CAIRO_STATUS_SUCCESS) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the picture cannot be drawn: {}", cairo_status_to_string(status))};
  }
  if (s.format == PictureFormat::kSvg) {
    // cairo draws letters as shapes, which no screen reader can read.
    const std::size_t tag = s.bytes.find("<svg ");
    const std::size_t inside = s.bytes.find('>', tag) + 1;
    s.bytes.insert(inside, fmt::format("\n<title>{}</title>\n<desc>{}</desc>", escaped(s.title),
                                       escaped(s.description)));
    s.bytes.insert(tag + 5, "role=\"img\" ");
  }
  return std::move(s.bytes);
}

}  // namespace checkmate::plot
