#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkmate/plot.h"
#include "checkmate/result.h"
#include "experiments/result_table.h"

/// The paper's experiments, at a size that fits one machine.
namespace checkmate::experiments {

struct ReproduceOptions {
  std::filesystem::path graphs =
      {};  ///< the public graphs with V100 costs; without them, the zoo with multiply-accumulates
  double time_limit = 30;  ///< seconds for one solve
  int threads = 1;
  std::function<void(std::string_view)> on_progress = {};
};

/// A picture of the paper, drawn from what was measured here.
struct ExperimentFigure {
  std::string name;  ///< of its file, without the ending
  std::string title;
  std::variant<Tradeoff, std::vector<BatchBar>, std::vector<MapPanel>> data;

  Result<std::string> draw(PictureFormat format) const;
};

/// A table, and figures where the paper has them.
struct Experiment : ResultTable {
  std::vector<ExperimentFigure> figures = {};
};

/// `integrality-gap`, `approximation`, `max-batch`, `overhead`, `solve-time`, `stage-map`.
std::span<const std::string_view> experiment_names();
/// An error for an unknown name or a folder without the graphs.
Result<Experiment> reproduce(std::string_view name, const ReproduceOptions& options,
                             const std::stop_token& stop = {});

}  // namespace checkmate::experiments
