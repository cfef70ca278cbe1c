#include "explain_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands.h"
#include "console.h"
#include "core/text.h"

namespace checkmate::tool {
namespace {

using namespace literals;

constexpr std::size_t kShown = 10;

/// The ten first rows, and a line that counts the others.
template <class Item, class Row>
void print_first(const std::vector<std::string>& header, const std::vector<Item>& items,
                 std::string_view thing, const Row& row) {
  Table table(header);
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) table.add(row(items[i]));
  table.print();
  if (items.size() > kShown) fmt::print("and {}\n", counted(items.size() - kShown, thing));
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// A cost as so much of keep-all's: what it adds to the overhead.
double overhead_of(const Graph& graph, Cost cost) {
  return share(cost.count(), graph.keep_all_cost().count());
}
std::string fine_percent(double part) { return fmt::format("{:.2f}%", 100 * part); }

void print_recomputed(const Graph& graph, const Explanation& plan) {
  if (plan.recomputed.empty()) return print_fact("recomputes", "nothing");
  std::size_t runs = 0;
  for (const Recomputation& again : plan.recomputed) runs += again.times;
  print_fact("recomputes",
             fmt::format("{} in {}: {} of keep-all's cost", counted(plan.recomputed.size(), "op"),
                         counted(runs, "run"), fine_percent(overhead_of(graph, plan.recomputed_cost))));
  print_first({"op", "times", "cost", "of recomputing"}, plan.recomputed, "more op",
              [&](const Recomputation& again) -> std::vector<std::string> {
                return {printable(graph.name(again.op)), grouped(again.times), grouped(again.cost.count()),
                        percent(share(again.cost.count(), plan.recomputed_cost.count()))};
              });
}

void print_kept(const Graph& graph, const Explanation& plan) {
  if (plan.kept.empty()) return;
  fmt::print("\nlongest kept\n");
  print_first({"tensor", "size", "steps", "from", "to"}, plan.kept, "more stay",
              [&](const LiveInterval& stay) -> std::vector<std::string> {
                return {printable(graph.name(stay.tensor)), to_string(graph.bytes(stay.tensor)),
                        grouped(stay.last - stay.first + 1), grouped(stay.first), grouped(stay.last)};
              });
}

void print_peak(const Graph& graph, const Plan& steps, const Explanation& plan) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < std::min(plan.peak_steps.size(), kShown); ++i) {
    const std::uint32_t step = plan.peak_steps[i];
    places.push_back(fmt::format("{} {}", grouped(step), in_quotes(graph.name(steps.steps[step]))));
  }
  if (plan.peak_steps.size() > kShown)
    places.push_back(counted(plan.peak_steps.size() - kShown, "more step"));
  fmt::print("\n");
  print_fact("peak", fmt::format("{} at step {}", to_string(plan.peak), fmt::join(places, ", ")));
  if (graph.fixed_bytes() > 0_B) print_fact("  fixed", to_string(graph.fixed_bytes()));
  if (plan.peak_workspace > 0_B) print_fact("  workspace", to_string(plan.peak_workspace));
  if (plan.at_peak.empty()) return;
  print_first({fmt::format("tensor at step {}", grouped(plan.peak_steps.front())), "size", "of the peak",
               "from", "to"},
              plan.at_peak, "more tensor", [&](const LiveInterval& stay) -> std::vector<std::string> {
                const Bytes bytes = graph.bytes(stay.tensor);
                return {printable(graph.name(stay.tensor)), to_string(bytes),
                        percent(share(bytes.count(), plan.peak.count())), grouped(stay.first),
                        grouped(stay.last)};
              });
}

std::string with_less(const Graph& graph, const PriceOfMemory& price) {
  if (!price.less_costs) {
    const bool proven = price.less.status == Status::kInfeasible;
    return fmt::format("{}: {}", proven ? "no plan fits" : "no plan found", price.less.detail);
  }
  if (*price.less_costs < Cost{0})
    return "even cheaper: the search stopped early; give it more time, or use this smaller budget";
  return fmt::format("{}, costs {}", times(overhead(graph, *price.less.cost)),
                     fine_percent(overhead_of(graph, *price.less_costs)));
}

std::string step_text(Bytes step) {
  if (step == 1_GiB) return "1 GiB";
  return to_string(step) + (step == 1_B ? "" : ", 5% of the budget");
}

void print_price(const Graph& graph, const PriceOfMemory& price) {
  fmt::print("\n");
  if (price.interrupted) return print_fact("price of memory", "unknown, because the search was stopped");
  print_fact("price of memory", "of " + step_text(price.step) + ", more and less:");
  print_fact("  " + to_string(price.more.budget),
             fmt::format("{}, saves {}", times(overhead(graph, *price.more.cost)),
                         fine_percent(overhead_of(graph, price.more_saves))));
  print_fact("  " + to_string(price.less.budget), with_less(graph, price));
}

void write_stays(JsonWriter& json, const Graph& graph, const std::vector<LiveInterval>& stays) {
  json.begin_array();
  for (const LiveInterval& stay : stays) {
    json.begin_object().member("tensor", stay.tensor.value).member("name", graph.name(stay.tensor));
    json.member("bytes", graph.bytes(stay.tensor).count()).member("first_step", stay.first);
    json.member("last_step", stay.last).end_object();
  }
  json.end_array();
}

void write_neighbour(JsonWriter& json, const Graph& graph, const PriceOfMemory::Neighbour& neighbour) {
  json.begin_object().member("budget_bytes", neighbour.budget.count());
  json.member("status", to_string(neighbour.status)).key("overhead");
  neighbour.cost ? json.value(overhead(graph, *neighbour.cost)) : json.null();
  if (!neighbour.detail.empty()) json.member("detail", neighbour.detail);
  json.end_object();
}

void write_price(JsonWriter& json, const Graph& graph, const PriceOfMemory& price) {
  if (price.interrupted) {
    json.null();
    return;
  }
  json.begin_object().member("step_bytes", price.step.count());
  json.member("more_saves", overhead_of(graph, price.more_saves)).key("less_costs");
  price.less_costs ? json.value(overhead_of(graph, *price.less_costs)) : json.null();
  write_neighbour(json.key("more"), graph, price.more);
  write_neighbour(json.key("less"), graph, price.less);
  json.end_object();
}

}  // namespace

void print_explanation(const Graph& graph, const SolveResult& result, const Explained& explained) {
  fmt::print("\n");
  print_recomputed(graph, explained.plan);
  print_kept(graph, explained.plan);
  print_peak(graph, *result.plan, explained.plan);
  print_price(graph, explained.price);
}

void write_explanation(JsonWriter& json, const Graph& graph, const std::optional<Explained>& explained) {
  if (!explained) {
    json.null();
    return;
  }
  const Explanation& plan = explained->plan;
  json.begin_object().member("recomputed_cost", plan.recomputed_cost.count());
  json.key("recomputed").begin_array();
  for (const Recomputation& again : plan.recomputed) {
    json.begin_object().member("op", again.op.value).member("name", graph.name(again.op));
    json.member("times", again.times).member("cost", again.cost.count()).end_object();
  }
  json.end_array();
  write_stays(json.key("kept"), graph, plan.kept);
  json.key("peak").begin_object().key("steps").begin_array();
  for (const std::uint32_t step : plan.peak_steps) json.value(step);
  json.end_array().member("fixed_bytes", graph.fixed_bytes().count());
  json.member("workspace_bytes", plan.peak_workspace.count());
  write_stays(json.key("tensors"), graph, plan.at_peak);
  json.end_object();
  write_price(json.key("price"), graph, explained->price);
  json.end_object();
}

}  // namespace checkmate::tool
