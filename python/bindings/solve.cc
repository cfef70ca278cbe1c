#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "ids.h"
#include "progress.h"
#include "search_thread.h"

namespace checkmate::python {
namespace {

using namespace nb::literals;

void make_options(SolveOptions* place, std::string method, std::string_view order, double time_limit,
                  int threads, std::uint64_t seed, double gap, double patience, std::uint64_t moves,
                  const std::vector<std::uint32_t>& start) {
  new (place) SolveOptions{.budget = {},
                           .method = std::move(method),
                           .order = order_of(order),
                           .time_limit = std::chrono::duration<double>(time_limit),
                           .threads = threads,
                           .seed = seed,
                           .gap = gap,
                           .patience = patience,
                           .moves = moves,
                           .start = ids_of<OpId>(start)};
}

SolveResult solve_in_background(const Graph& graph, std::int64_t budget, SolveOptions options,
                                const nb::object& on_progress, const nb::object& on_tick) {
  SearchThread search_thread(on_tick);
  options.budget = Bytes{budget};
  options.on_progress = reporter(search_thread, on_progress);
  return search_thread.run(
      [&](std::stop_token stop) { return value_or_raise(solve(graph, options, std::move(stop))); },
      [](const SolveResult& result) { return result.plan.has_value(); });
}

using LeastBudgetRow =
    std::tuple<std::int64_t, std::int64_t, Plan, std::int64_t, std::string, std::string, double>;
LeastBudgetRow least_budget_in_background(const Graph& graph, const SolveOptions& options,
                                          const nb::object& on_tick) {
  SearchThread search_thread(on_tick);
  const LeastBudgetOptions least_options{.order = options.order,
                                         .time_limit = options.time_limit,
                                         .threads = options.threads,
                                         .seed = options.seed,
                                         .gap = options.gap,
                                         .start = options.start};
  LeastBudget least = search_thread.run(
      [&](std::stop_token stop) {
        return value_or_raise(least_budget(graph, least_options, std::move(stop)));
      },
      [](const LeastBudget&) { return true; });
  return {least.needed.count(),      least.sufficient.count(), std::move(least.plan), least.cost.count(),
          std::string(least.method), std::move(least.detail),  least.seconds};
}

using MethodRow = std::tuple<std::string_view, std::string_view, bool, bool, bool, bool>;
std::vector<MethodRow> method_rows() {
  std::vector<MethodRow> rows;
  for (const MethodInfo& method : methods()) {
    rows.emplace_back(method.name, method.summary, method.exact, method.needs_chain, method.free_order,
                      method.plans);
  }
  return rows;
}

}  // namespace

std::function<void(const Progress&)> reporter(SearchThread& search_thread, const nb::object& on_progress) {
  if (on_progress.is_none()) return {};
  return [&search_thread, &on_progress](const Progress& progress) {
    search_thread.post_newest([&on_progress, seconds = progress.seconds, cost = count_of(progress.cost),
                               bound = count_of(progress.bound), method = std::string(progress.method)] {
      on_progress(seconds, cost, bound, method);
    });
  };
}

void bind_solve(nb::module_& module) {
  nb::class_<SolveOptions>(module, "SolveOptions")
      .def("__init__", make_options, "method"_a, "order"_a, "time_limit"_a, "threads"_a, "seed"_a, "gap"_a,
           "patience"_a, "moves"_a, "start"_a);

  nb::class_<SolveResult>(module, "SolveResult")
      .def_prop_ro("status", [](const SolveResult& result) { return to_string(result.status); })
      .def_prop_ro("stop_reason", [](const SolveResult& result) { return to_string(result.stop_reason); })
      .def_ro("detail", &SolveResult::detail)
      .def_ro("method", &SolveResult::method)
      .def_prop_ro("plan", [](const SolveResult& result) { return result.plan; })
      .def_prop_ro("cost", [](const SolveResult& result) { return count_of(result.cost); })
      .def_prop_ro("peak", [](const SolveResult& result) { return count_of(result.peak); })
      .def_prop_ro("lower_bound", [](const SolveResult& result) { return result.lower_bound.count(); })
      .def_prop_ro("stage_lower_bound",
                   [](const SolveResult& result) { return count_of(result.stage_lower_bound); })
      .def_prop_ro("sufficient", [](const SolveResult& result) { return count_of(result.sufficient); })
      .def_prop_ro("needed", [](const SolveResult& result) { return count_of(result.needed); })
      .def_ro("seconds", &SolveResult::seconds)
      .def_ro("first_plan_seconds", &SolveResult::first_plan_seconds)
      .def_ro("moves", &SolveResult::moves);

  module.def("solve", solve_in_background, "graph"_a, "budget"_a, "options"_a, "on_progress"_a.none(),
             "on_tick"_a.none());
  module.def("least_budget", least_budget_in_background, "graph"_a, "options"_a, "on_tick"_a.none());
  module.def("methods", method_rows);

  const SolveOptions defaults;
  module.attr("default_method") = defaults.method;
  module.attr("default_order") = to_string(defaults.order);
  module.attr("default_time_limit") = defaults.time_limit.count();
  module.attr("default_threads") = defaults.threads;
  module.attr("default_seed") = defaults.seed;
  module.attr("default_gap") = defaults.gap;
  module.attr("default_patience") = defaults.patience;
  module.attr("default_moves") = defaults.moves;
  const LeastBudgetOptions of_least_budget;
  module.attr("default_least_budget_time_limit") = of_least_budget.time_limit.count();
  module.attr("default_least_budget_gap") = of_least_budget.gap;
}

}  // namespace checkmate::python
