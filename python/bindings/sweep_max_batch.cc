#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "progress.h"
#include "search_thread.h"

namespace checkmate::python {
namespace {

using namespace nb::literals;

/// budget, method, result
using PointRow = std::tuple<std::int64_t, std::string, SolveResult>;

std::vector<PointRow> sweep_in_background(const Graph& graph, const std::vector<std::int64_t>& budgets,
                                          const std::vector<std::string>& methods, SolveOptions options,
                                          const nb::object& on_progress, const nb::object& on_tick,
                                          const nb::object& on_point) {
  SearchThread search_thread(on_tick);
  SweepOptions sweep_options{.budgets = {}, .methods = methods, .solve = std::move(options)};
  for (const std::int64_t budget : budgets) sweep_options.budgets.emplace_back(budget);
  sweep_options.solve.on_progress = reporter(search_thread, on_progress);
  if (!on_point.is_none()) {
    sweep_options.on_point = [&](const SweepPoint& point) {
      search_thread.post(
          [&on_point, budget = point.budget.count(), method = point.method] { on_point(budget, method); });
    };
  }
  std::vector<SweepPoint> points = search_thread.run(
      [&](const std::stop_token& stop) { return value_or_raise(sweep(graph, sweep_options, stop)); },
      [](const std::vector<SweepPoint>& found) { return !found.empty(); });
  std::vector<PointRow> rows;
  rows.reserve(points.size());
  for (SweepPoint& point : points)
    rows.emplace_back(point.budget.count(), std::move(point.method), std::move(point.result));
  return rows;
}

/// The Error inside a checkmate.Error; any other exception goes on.
Error error_of(nb::python_error& exception) {
  if (!exception.matches(nb::module_::import_("checkmate.errors").attr("Error"))) throw std::move(exception);
  const nb::handle value = exception.value();
  return {parse_error_code(nb::cast<std::string>(value.attr("code"))), nb::cast<std::string>(nb::str(value))};
}

/// batch, upper limit, proven, certificate, overhead, seconds
using MaxBatchRow = std::tuple<std::int64_t, std::int64_t, bool, std::string, double, double>;

MaxBatchRow max_batch_in_background(const nb::object& network, std::int64_t memory, double extra_forward,
                                    SolveOptions options, std::int64_t largest, const nb::object& on_progress,
                                    const nb::object& on_tick, const nb::object& on_probe) {
  SearchThread search_thread(on_tick);
  options.on_progress = reporter(search_thread, on_progress);
  const auto build = [&](std::int64_t batch) -> Result<Graph> {
    Result<Graph> graph = Error{ErrorCode::kInvalidArgument, "the network was not built"};
    search_thread.call([&] {
      try {
        graph = nb::cast<Graph>(network(batch));
      } catch (nb::python_error& exception) {
        graph = error_of(exception);
      }
    });
    return graph;
  };
  MaxBatchOptions max_batch_options{.memory = Bytes{memory},
                                    .extra_forward = extra_forward,
                                    .solve = std::move(options),
                                    .largest = largest};
  if (!on_probe.is_none()) {
    max_batch_options.on_probe = [&](std::int64_t batch, bool fits) {
      search_thread.post([&on_probe, batch, fits] { on_probe(batch, fits); });
    };
  }
  // An error ends a search that was interrupted while it built a network: that is not an answer.
  const Result<MaxBatch> answer = search_thread.run(
      [&](const std::stop_token& stop) { return max_batch(build, max_batch_options, stop); },
      [](const Result<MaxBatch>& found) { return found && found->batch > 0; });
  const MaxBatch found = value_or_raise(answer);
  return {found.batch, found.upper_limit, found.proven, found.certificate, found.overhead, found.seconds};
}

}  // namespace

void bind_searches(nb::module_& module) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(SearchThread::stop_all));
  module.def("sweep", sweep_in_background, "graph"_a, "budgets"_a, "methods"_a, "options"_a,
             "on_progress"_a.none(), "on_tick"_a.none(), "on_point"_a.none());
  module.def("max_batch", max_batch_in_background, "network"_a, "memory"_a, "extra_forward"_a, "options"_a,
             "largest"_a, "on_progress"_a.none(), "on_tick"_a.none(), "on_probe"_a.none());
}

}  // namespace checkmate::python
