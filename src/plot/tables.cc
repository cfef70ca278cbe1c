#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "checkmate/plot.h"
#include "text.h"

namespace checkmate {
namespace {

/// A table of text with a header, cells in quotes where they hold a comma. Trusts nothing: the first failure
/// is kept, with its line.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string source) : rest_(text), source_(std::move(source)) {
    if (next()) header_ = cells_;
  }

  /// The place of a column that has to be there.
  std::size_t column(std::string_view name) {
    const auto found = std::find(header_.begin(), header_.end(), name);
    if (found == header_.end()) fail(fmt::format("there is no column {}", in_quotes(name)));
    return static_cast<std::size_t>(found - header_.begin());
  }

  /// The next row that is not empty; false at the end and after a failure.
  bool next() {
    do {
      if (error_ || rest_.empty()) return false;
      read_row();
    } while (cells_.size() == 1 && cells_[0].empty());
    if (!header_.empty() && cells_.size() != header_.size() && !error_)
      fail(fmt::format("{} for {}", counted(cells_.size(), "cell"), counted(header_.size(), "column")));
    return !error_;
  }
  const std::string& cell(std::size_t column) const { return cells_[column]; }

  template <class Number>
  Number number(std::size_t column) {
    Number value{};
    const std::string& text = cells_[column];
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || !(value >= 0)) {
      fail(fmt::format("{} is {}, and should be a number of 0 or more", printable(header_[column]),
                       in_quotes(text)));
    }
    return value;
  }

  void fail(std::string_view what) {
    if (!error_) error_ = {ErrorCode::kInvalidFile, fmt::format("{}:{}: {}", source_, line_, what)};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  void read_row() {
    ++line_;
    cells_.assign(1, "");
    bool quoted = false;
    std::size_t i = 0;
    for (; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (c == '"') {
        if (quoted && i + 1 < rest_.size() && rest_[i + 1] == '"') {
          cells_.back() += rest_[++i];
        } else {
          quoted = !quoted;
        }
      } else if (c == ',' && !quoted) {
        cells_.emplace_back();
      } else if (c == '\n') {
        break;
      } else if (c != '\r') {
        cells_.back() += c;
      }
    }
    if (quoted) fail("a quotation mark is not closed on its line");
    rest_.remove_prefix(std::min(i + 1, rest_.size()));
  }

  std::string_view rest_;
  std::string source_;
  std::size_t line_ = 0;
  std::vector<std::string> header_, cells_;
  std::optional<Error> error_;
};

/// More methods, or networks, make no picture that anybody can read.
constexpr std::size_t kMostNames = 100;
constexpr std::string_view kTooMany = "more than 100 methods or networks are too many for a picture";

/// On one line, whatever is in it.
std::string quoted(const std::string& cell) {
  std::string line = printable(cell, cell.size());
  if (line.find_first_of(",\"") == std::string::npos) return line;
  std::string text = "\"";
  for (const char c : line) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

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
    if (bytes > Bytes{kLargestTotal}) table.fail("a budget passes 2^62 bytes");
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
  std::string text = "network,method,batch\n";
  for (const BatchBar& bar : bars)
    text += fmt::format("{},{},{}\n", quoted(bar.network), quoted(bar.method), bar.batch);
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
