#include "table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace checkmate::bench {
namespace {

constexpr double kFloorRoom = 1.02;  // seeds differ: a floor may be missed by 2% of itself

/// The runs of one method on one instance, seed by seed.
struct Row {
  const Measured& measured;
  std::vector<const Run*> runs;
  const Run& worst;  ///< one without a plan, or the most expensive
  const Run& best;
  std::optional<Cost> best_of_all;  ///< methods
};

struct Column {
  std::string_view header;
  std::function<std::string(const Row&)> cell;
};

double extra_percent(const Measured& measured, Cost cost) {
  const auto base = static_cast<double>(measured.keep_all_cost.count());
  return base == 0 ? 0 : 100 * (static_cast<double>(cost.count()) / base - 1);
}

std::string extra_text(const Measured& measured, Cost cost) {
  return fmt::format("{:.4f}", extra_percent(measured, cost));
}

std::string seconds_text(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.2f}", *seconds) : "never";
}

std::string plan_text(const Measured& measured, const Run& run) {
  return run.result.plan ? extra_text(measured, *run.result.cost) : std::string(to_string(run.result.status));
}

std::string gap_text(const Run& run, std::optional<Cost> bound) {
  if (!run.result.plan || !bound) return "";
  return fmt::format("{:.3f}", 100 * relative_gap(*run.result.cost, *bound));
}

bool costs_less(const Run* a, const Run* b) {
  const auto key = [](const Run& run) {
    return run.result.cost.value_or(Cost{std::numeric_limits<std::int64_t>::max()});
  };
  return key(*a) < key(*b);
}

std::optional<Cost> least_cost(const Measured& measured) {
  std::optional<Cost> least;
  for (const Run& run : measured.runs) {
    if (run.result.plan) least = std::min(least.value_or(*run.result.cost), *run.result.cost);
  }
  return least;
}

/// Within a thousandth of the best plan of all runs on the instance.
std::optional<double> seconds_to_near_best(const Run& run, std::optional<Cost> best) {
  if (!best) return std::nullopt;
  return seconds_to_cost(run, *best + Cost{best->count() / 1000});
}

std::string moves_rate(const Run& run) {
  if (run.result.moves == 0 || run.result.seconds <= 0) return "";
  return fmt::format("{:.0f}", static_cast<double>(run.result.moves) / run.result.seconds);
}

/// `pass`, or which figures the worst seed misses; empty where there is nothing to compare with.
std::string verdict(const Row& row) {
  std::vector<std::string_view> missed;
  std::size_t figures = 0;
  const SolveResult& worst = row.worst.result;
  const auto compare = [&](std::string_view what, bool held) {
    ++figures;
    if (!held) missed.push_back(what);
  };
  const Instance& instance = row.measured.instance;
  const auto is_rival = [&](const Run& run) { return instance.against_milp && run.how.method == "milp"; };
  if (is_rival(row.worst)) return "";
  for (const auto& [what, figure] :
       {std::pair("floor", instance.floor), std::pair("published", instance.published)}) {
    if (figure.empty()) continue;
    const double room = what == std::string_view("floor") ? kFloorRoom : 1;
    compare(what, worst.plan && extra_percent(row.measured, *worst.cost) <= most(figure) * room);
  }
  for (const Run& rival : row.measured.runs) {
    if (is_rival(rival))
      compare("milp", worst.plan && (!rival.result.plan || *worst.cost <= *rival.result.cost));
  }
  if (figures == 0) return "";
  return missed.empty() ? "pass" : fmt::format("**fail**: {}", fmt::join(missed, ", "));
}

std::vector<Column> columns() {
  const auto at_scale = [](const Row& row, const std::string& text) {
    return row.measured.instance.set == "scale" ? text : std::string();
  };
  return {
      {"graph", [](const Row& row) { return std::string(row.measured.instance.name); }},
      {"ops", [](const Row& row) { return std::to_string(row.measured.ops); }},
      {"budget", [](const Row& row) { return std::string(row.measured.instance.budget); }},
      {"method", [](const Row& row) { return row.worst.how.method; }},
      {"plan, worst seed", [](const Row& row) { return plan_text(row.measured, row.worst); }},
      {"best seed",
       [](const Row& row) { return row.runs.size() > 1 ? plan_text(row.measured, row.best) : ""; }},
      {"bound", [](const Row& row) { return extra_text(row.measured, row.worst.result.lower_bound); }},
      {"gap", [](const Row& row) { return gap_text(row.worst, row.worst.result.lower_bound); }},
      {"stage gap", [](const Row& row) { return gap_text(row.worst, row.worst.result.stage_lower_bound); }},
      {"first plan, s",
       [](const Row& row) {
         return row.worst.result.plan ? seconds_text(row.worst.result.first_plan_seconds) : "";
       }},
      {"to 0.1% of best, s",
       [](const Row& row) { return seconds_text(seconds_to_near_best(row.worst, row.best_of_all)); }},
      {"to 1% gap, s",
       [=](const Row& row) { return at_scale(row, seconds_text(seconds_to_gap(row.worst, 0.01))); }},
      {"in all, s", [](const Row& row) { return seconds_text(row.worst.result.seconds); }},
      {"moves/s", [](const Row& row) { return moves_rate(row.worst); }},
      {"memory", [=](const Row& row) { return at_scale(row, to_string(row.worst.memory)); }},
      {"floor", [](const Row& row) { return std::string(row.measured.instance.floor); }},
      {"floor's gap", [](const Row& row) { return std::string(row.measured.instance.floor_gap); }},
      {"published", [](const Row& row) { return std::string(row.measured.instance.published); }},
      {"verdict", verdict},
  };
}

std::vector<Row> rows_of(std::span<const Measured> measured) {
  std::vector<Row> rows;
  for (const Measured& one : measured) {
    std::vector<std::string> methods;
    std::map<std::string, std::vector<const Run*>> by_method;
    for (const Run& run : one.runs) {
      if (by_method[run.how.method].empty()) methods.push_back(run.how.method);
      by_method[run.how.method].push_back(&run);
    }
    for (const std::string& method : methods) {
      const std::vector<const Run*>& runs = by_method[method];
      rows.push_back({.measured = one,
                      .runs = runs,
                      .worst = **std::max_element(runs.begin(), runs.end(), costs_less),
                      .best = **std::min_element(runs.begin(), runs.end(), costs_less),
                      .best_of_all = least_cost(one)});
    }
  }
  return rows;
}

std::string remark(const std::vector<Row>& rows) {
  const auto compared =
      std::count_if(rows.begin(), rows.end(), [](const Row& r) { return !verdict(r).empty(); });
  const auto passed =
      std::count_if(rows.begin(), rows.end(), [](const Row& r) { return verdict(r) == "pass"; });
  std::string text =
      "Plans, bounds and figures are in percent over running each op once, gaps in percent of the plan's "
      "cost. "
      "Each line is about the seed with the most expensive plan, except for the best seed's plan.";
  if (compared > 0) text += fmt::format(" {} of {} lines pass.", passed, compared);
  return text;
}

}  // namespace

experiments::ResultTable runs_table(std::span<const Measured> measured) {
  experiments::ResultTable table{.name = "runs",
                                 .title = "All runs",
                                 .header = {"set",
                                            "graph",
                                            "ops",
                                            "budget",
                                            "budget_bytes",
                                            "order",
                                            "method",
                                            "found_by",
                                            "seed",
                                            "threads",
                                            "time_limit",
                                            "status",
                                            "overhead",
                                            "bound",
                                            "gap",
                                            "stage_gap",
                                            "first_plan_seconds",
                                            "seconds_to_0.1%_of_best",
                                            "seconds_to_1%_gap",
                                            "seconds",
                                            "moves",
                                            "moves_per_second",
                                            "memory_bytes"},
                                 .rows = {}};
  for (const Measured& one : measured) {
    const auto over = [&](Cost cost) { return fmt::format("{:.8f}", 1 + extra_percent(one, cost) / 100); };
    const auto known = [](std::optional<double> seconds) {
      return seconds ? fmt::format("{:.4f}", *seconds) : std::string();
    };
    for (const Run& run : one.runs) {
      const SolveResult& r = run.result;
      table.rows.push_back({std::string(one.instance.set),
                            std::string(one.instance.name),
                            std::to_string(one.ops),
                            std::string(one.instance.budget),
                            std::to_string(one.budget.count()),
                            std::string(to_string(one.instance.order)),
                            run.how.method,
                            r.method,
                            std::to_string(run.how.seed),
                            std::to_string(run.how.threads),
                            fmt::format("{}", run.how.time_limit.count()),
                            std::string(to_string(r.status)),
                            r.plan ? over(*r.cost) : "",
                            over(r.lower_bound),
                            r.plan ? fmt::format("{:.8f}", relative_gap(*r.cost, r.lower_bound)) : "",
                            r.plan && r.stage_lower_bound
                                ? fmt::format("{:.8f}", relative_gap(*r.cost, *r.stage_lower_bound))
                                : "",
                            r.plan ? known(r.first_plan_seconds) : "",
                            known(seconds_to_near_best(run, least_cost(one))),
                            known(seconds_to_gap(run, 0.01)),
                            known(r.seconds),
                            std::to_string(r.moves),
                            moves_rate(run),
                            std::to_string(run.memory.count())});
    }
  }
  return table;
}

experiments::ResultTable summary_table(std::string_view set, std::span<const Measured> measured) {
  experiments::ResultTable table{
      .name = std::string(set), .title = std::string(set), .header = {}, .rows = {}};
  const std::vector<Row> rows = rows_of(measured);
  table.rows.resize(rows.size());
  for (const Column& column : columns()) {
    std::vector<std::string> cells;
    cells.reserve(rows.size());
    for (const Row& row : rows) cells.push_back(column.cell(row));
    // What a set has nothing to say of would only make its table wider.
    if (std::all_of(cells.begin(), cells.end(), [](const std::string& cell) { return cell.empty(); }))
      continue;
    table.header.emplace_back(column.header);
    for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].push_back(std::move(cells[i]));
  }
  table.remark = remark(rows);
  return table;
}

}  // namespace checkmate::bench
