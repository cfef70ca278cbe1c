#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "checkmate/plot.h"
#include "core/text.h"
#include "core/try.h"
#include "plot/axes.h"

namespace checkmate {
namespace {

using namespace plot;

// Dark and light in turn: neighbours differ in print without colours too.
constexpr std::array kBars = {Colour{0xB5B5B5}, kSky,    kBlue, kOrange,         kVermillion,
                              kGreen,           kPurple, kInk,  Colour{0x8C6D31}};

/// In the order of their first appearance.
std::vector<std::string> names(std::span<const BatchBar> bars, std::string BatchBar::*name) {
  std::vector<std::string> found;
  for (const BatchBar& bar : bars) {
    if (std::find(found.begin(), found.end(), bar.*name) == found.end()) found.push_back(bar.*name);
  }
  return found;
}

class BatchChart {
 public:
  explicit BatchChart(std::span<const BatchBar> bars)
      : networks_(names(bars, &BatchBar::network)), methods_(names(bars, &BatchBar::method)) {
    for (const BatchBar& bar : bars) batches_[{bar.network, bar.method}] = bar.batch;
    relative_ = std::all_of(networks_.begin(), networks_.end(), [&](const std::string& network) {
      const std::int64_t* const kept = batch(network, "keep-all");
      return kept != nullptr && *kept > 0;
    });
    for (const auto& [key, count] : batches_) highest_ = std::max(highest_, height(key.first, count));
  }

  const std::vector<std::string>& networks() const { return networks_; }
  const std::vector<std::string>& methods() const { return methods_; }
  bool relative() const { return relative_; }
  double highest() const { return highest_; }
  const std::int64_t* batch(const std::string& network, const std::string& method) const {
    const auto found = batches_.find({network, method});
    return found == batches_.end() ? nullptr : &found->second;
  }
  double height(const std::string& network, std::int64_t count) const {
    const auto whole = static_cast<double>(count);
    return relative_ ? whole / static_cast<double>(*batch(network, "keep-all")) : whole;
  }

 private:
  std::vector<std::string> networks_, methods_;
  std::map<std::pair<std::string, std::string>, std::int64_t> batches_;
  bool relative_ = false;
  double highest_ = 0;
};

void draw_bars(Canvas& canvas, const BatchChart& chart, const Box& area, const Scale& y) {
  const double group = area.width / static_cast<double>(chart.networks().size());
  const double bar = std::min(group * 0.84 / static_cast<double>(chart.methods().size()), 60.0);
  const double used = bar * static_cast<double>(chart.methods().size());
  const Font number = {.size = std::clamp(bar * 0.62, 4.0, 8.5), .colour = {0x444444}};
  for (std::size_t i = 0; i < chart.networks().size(); ++i) {
    const std::string& network = chart.networks()[i];
    const double left = area.left + group * static_cast<double>(i);
    const Font name_font = {.size = 10, .colour = kInk};
    canvas.text({left + group / 2, area.bottom() + 15}, canvas.fitted(network, name_font, group - 4),
                name_font, Align::kCentre);
    for (std::size_t j = 0; j < chart.methods().size(); ++j) {
      const std::int64_t* const count = chart.batch(network, chart.methods()[j]);
      if (count == nullptr) continue;
      const double from = left + (group - used) / 2 + bar * static_cast<double>(j);
      const double top = y(chart.height(network, *count));
      canvas.fill(Box{from + 0.06 * bar, top, 0.88 * bar, area.bottom() - top}, kBars.at(j % kBars.size()));
      const std::string text = *count == 0 ? "none" : grouped(*count);
      if (canvas.width_of(text, number) <= bar * 1.02) {
        canvas.text({from + bar / 2, top - 3}, text, number, Align::kCentre);
      } else {
        canvas.turned_text({from + bar / 2 + number.size * 0.36, top - 3}, text, number);
      }
    }
  }
}

}  // namespace

Result<std::string> plot_max_batch(std::span<const BatchBar> bars, const PictureOptions& options) {
  if (bars.empty()) return Error{ErrorCode::kInvalidArgument, "there are no batches to draw"};
  for (const BatchBar& bar : bars) {
    if (bar.batch < 0)
      return Error{ErrorCode::kInvalidArgument, fmt::format("a batch must be 0 or more, got {}", bar.batch)};
  }
  const BatchChart chart(bars);
  const double suits =
      130 + 14.0 * static_cast<double>(chart.networks().size() * (chart.methods().size() + 1));
  CHECKMATE_TRY(const Size size, picture_size(options, std::clamp(suits, 440.0, 900.0), 340));

  const std::string title = options.title.empty() ? "Largest batch" : options.title;
  std::string description = "Largest batches.";
  for (const BatchBar& bar : bars)
    description += fmt::format(" {}, {}: {}.", bar.network, bar.method, grouped(bar.batch));
  Canvas canvas(options.format, size.width, size.height, title, description);
  std::vector<LegendItem> legend;
  for (std::size_t i = 0; i < chart.methods().size(); ++i) {
    legend.push_back({chart.methods()[i], [&canvas, i](const Box& box) {
                        canvas.fill(Box{box.left + 3, box.top, 10, 9}, kBars.at(i % kBars.size()));
                      }});
  }
  const double top = draw_legend(canvas, draw_title(canvas, title) + 4, legend) + 22;
  const double high = chart.highest() == 0 ? 1 : chart.highest();
  // Room for the turned numbers on the highest bars.
  const double room = (size.height - top - 24) / (size.height - top - 24 - 26);
  const Ticks ticks = round_ticks(0, high * room, (size.height - top - 30) / 44);
  double label_width = 0;
  for (std::size_t i = 0; i < ticks.values.size(); ++i)
    label_width = std::max(label_width, canvas.width_of(ticks.text(i) + "x", kTickFont));
  const double left = kMargin + label_width + 6;
  const Box area = {left, top, size.width - left - kMargin, size.height - top - 28};
  if (!has_room(area)) return too_small();
  const Scale y = {0, high * room, area.bottom(), area.top};
  draw_value_axis(canvas, area, y, ticks, chart.relative() ? "x" : "",
                  chart.relative() ? "batch relative to keep-all; labels show the batch" : "batch");
  draw_bars(canvas, chart, area, y);
  canvas.line({area.left, area.bottom()}, {area.right(), area.bottom()},
              {.colour = {0x555555}, .width = 0.9});
  return canvas.finish();
}

}  // namespace checkmate
