#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "checkmate/file.h"
#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "experiments/experiments.h"
#include "interrupt.h"

namespace checkmate::tool {
namespace {

using namespace experiments;

struct Flags {
  std::string experiment;
  std::string graphs;
  std::string output = "reproduction";
  std::string figure_format = "svg";
  double time_limit = 30;
  int threads = 1;
};

/// The figures, and what the bars were drawn from, for those who draw it themselves.
Result<void> write_figures(const Flags& flags, const Experiment& experiment) {
  const std::filesystem::path folder = flags.output;
  for (const ExperimentFigure& figure : experiment.figures) {
    const std::filesystem::path file = folder / (figure.name + "." + flags.figure_format);
    CHECKMATE_TRY(const PictureFormat format, picture_format(file));
    const Result<std::string> picture = figure.draw(format);
    if (!picture) return picture.error().at(figure.name);
    CHECKMATE_TRY(write_file(file, *picture));
    if (const auto* bars = std::get_if<std::vector<BatchBar>>(&figure.data)) {
      CHECKMATE_TRY(write_file(folder / (figure.name + "_bars.csv"), batches_to_csv(*bars)));
    }
  }
  return {};
}

Result<int> run(const Flags& flags) {
  std::vector<std::string_view> names = {flags.experiment};
  if (flags.experiment == "all") names.assign(experiment_names().begin(), experiment_names().end());
  const Interrupt interrupt;
  const bool talk = progress_wanted();
  ReproduceOptions options{.graphs = flags.graphs, .time_limit = flags.time_limit, .threads = flags.threads};
  if (talk) options.on_progress = [](std::string_view what) { tell(fmt::format("{}\n", what)); };
  std::error_code failure;
  std::filesystem::create_directories(flags.output, failure);
  if (failure)
    return Error{ErrorCode::kIo, fmt::format("{}: {}", printable(flags.output, 4096), failure.message())};
  for (const std::string_view name : names) {
    CHECKMATE_TRY(const Experiment experiment, reproduce(name, options, interrupt.token()));
    if (interrupt.token().stop_requested()) {
      tell(fmt::format("checkmate: interrupted; {} was not written\n", name));
      return kNoPlan;
    }
    const std::filesystem::path base = std::filesystem::path(flags.output) / experiment.name;
    for (const auto& [ending, text] :
         {std::pair(".csv", experiment.csv()), std::pair(".md", experiment.markdown())}) {
      CHECKMATE_TRY(write_file(base.string() + ending, text));
    }
    CHECKMATE_TRY(write_figures(flags, experiment));
    fmt::print("{}\n", experiment.markdown());
  }
  return kDone;
}

}  // namespace

void add_reproduce(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("reproduce", "Runs the paper's experiments and writes their tables and figures",
                         [flags] { return run(*flags); });
  verb.example("checkmate reproduce integrality-gap -o results");
  verb.argument("EXPERIMENT", flags->experiment,
                "overhead, approximation, max-batch, integrality-gap, solve-time, stage-map or all");
  verb.option("--graphs", flags->graphs,
              "folder of the public graphs with measured costs; by default, networks of the zoo");
  verb.option("--time-limit", flags->time_limit, "seconds per solve");
  verb.option("--threads", flags->threads, "threads per solve");
  verb.option("-o,--output", flags->output, "output folder for the CSV files, Markdown files and figures");
  verb.choice("--figure-format", flags->figure_format, {"svg", "png", "pdf"}, "format of the figures");
}

}  // namespace checkmate::tool
