#include "sweep_flags.h"

#include <fmt/format.h>

#include <optional>

#include "console.h"
#include "core/try.h"
#include "progress_line.h"

namespace checkmate::tool {

void SweepFlags::add_to(Verb& verb) {
  verb.option("--budgets", budgets, "sizes, shares and ranges such as 90%..20%:5%, separated by commas");
  verb.option("--methods", methods, "methods to try at each budget, separated by commas");
}

Result<SweepOptions> SweepFlags::options(const Graph& graph, SolveOptions search) const {
  CHECKMATE_TRY(std::vector<Bytes> bytes, parse_budgets(graph, budgets));
  if (methods.empty()) return Error{ErrorCode::kInvalidArgument, "--methods is empty"};
  CHECKMATE_TRY(std::vector<std::string> names, parse_methods(methods));
  return SweepOptions{.budgets = std::move(bytes), .methods = std::move(names), .solve = std::move(search)};
}

Result<std::vector<SweepPoint>> watched_sweep(const Graph& graph, SweepOptions options,
                                              const std::stop_token& stop) {
  const std::vector<Bytes>& budgets = options.budgets;
  const std::size_t count = options.methods.size() * budgets.size();
  std::size_t at = 0;
  std::optional<ProgressLine> line(std::in_place, "", graph, options.solve);
  const auto tell_next = [&] {
    if (at == count) return;
    const std::string& method = options.methods[at / budgets.size()];
    const Bytes budget = budgets[at % budgets.size()];
    ++at;
    line->now_at(fmt::format("{} at {} ({} of {}): ", method, to_string(budget), at, count));
  };
  tell_next();
  options.on_point = [&](const SweepPoint&) { tell_next(); };
  Result<std::vector<SweepPoint>> points = sweep(graph, options, stop);
  line.reset();
  if (points && stop.stop_requested())
    tell(fmt::format("checkmate: stopped at search {} of {}\n", points->size(), count));
  return points;
}

}  // namespace checkmate::tool
