#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkmate/plot.h"
#include "core/csv.h"

namespace checkmate {
namespace {

/// A picture of more methods or networks is not readable.
constexpr std::size_t kMostNames = 100;
constexpr std::string_view kTooMany = "a picture shows at most 100 methods or networks";

}  // namespace

Result<Tradeoff> parse_tradeoff(std::string_view csv, const std::string& source) {
  CsvReader table(csv, source);
  const std::size_t budget = table.column("budget_bytes");
  const std::size_t method = table.column("method");
  const std::size_t status = table.column("status");
  const std::size_t cost = table.column("cost");
  const std::size_t ratio = table.column("overhead");
  const std::size_t lower_bound = table.column("lower_bound");
  Tradeoff tradeoff;
  std::map<Bytes, double> bound;  // in the graph's unit of cost
  double keep_all = 0;
  while (table.next()) {
    const Bytes bytes{table.number<std::int64_t>(budget)};
    if (bytes > Bytes{kLargestTotal}) table.fail("a budget exceeds 2^62 bytes");
    auto place = std::find_if(tradeoff.methods.begin(), tradeoff.methods.end(),
                              [&](const auto& other) { return other.name == table.cell(method); });
    if (place == tradeoff.methods.end()) place = tradeoff.methods.insert(place, {table.cell(method), {}});
    if (tradeoff.methods.size() > kMostNames) table.fail(kTooMany);
    if (table.error()) break;
    if (!table.cell(ratio).empty()) {
      const auto value = table.number<double>(ratio);
      if (value > 0) keep_all = static_cast<double>(table.number<std::int64_t>(cost)) / value;
      place->points.push_back({bytes, value});
    }
    if (table.cell(status) == to_string(Status::kInfeasible)) {
      tradeoff.least_budget = std::max(bytes + Bytes{1}, tradeoff.least_budget.value_or(Bytes{0}));
      continue;
    }
    double& best = bound.try_emplace(bytes, 0).first->second;
    best = std::max(best, static_cast<double>(table.number<std::int64_t>(lower_bound)));
  }
  if (table.error()) return *table.error();
  for (Tradeoff::Method& each : tradeoff.methods) {
    std::sort(each.points.begin(), each.points.end(),
              [](const Tradeoff::Point& a, const Tradeoff::Point& b) { return a.budget < b.budget; });
  }
  for (const auto& [bytes, least] : bound)
    tradeoff.bound.push_back({bytes, keep_all > 0 ? std::max(1.0, least / keep_all) : 1});
  return tradeoff;
}

std::string batches_to_csv(std::span<const BatchBar> bars) {
  std::string text = csv_line({"network", "method", "batch"});
  for (const BatchBar& bar : bars) text += csv_line({bar.network, bar.method, std::to_string(bar.batch)});
  return text;
}

Result<std::vector<BatchBar>> parse_batches(std::string_view csv, const std::string& source) {
  CsvReader table(csv, source);
  const std::size_t network = table.column("network");
  const std::size_t method = table.column("method");
  const std::size_t batch = table.column("batch");
  std::vector<BatchBar> bars;
  while (table.next()) {
    bars.push_back({table.cell(network), table.cell(method), table.number<std::int64_t>(batch)});
    if (bars.size() > kMostNames * kMostNames) table.fail(kTooMany);
  }
  if (table.error()) return *table.error();
  return bars;
}

}  // namespace checkmate
