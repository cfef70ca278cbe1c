#include "core/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace checkmate {
namespace {

std::string quoted(const std::string& cell) {
  std::string line = printable(cell, cell.size());
  if (line.find_first_of(",\"") == std::string::npos) return line;
  std::string text = "\"";
  for (const char c : line) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += quoted(cell) + ",";
  if (!line.empty()) line.pop_back();
  return line + "\n";
}

CsvReader::CsvReader(std::string_view text, std::string source) : rest_(text), source_(std::move(source)) {
  if (next()) header_ = cells_;
}

std::size_t CsvReader::column(std::string_view name) {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) fail(fmt::format("there is no column {}", in_quotes(name)));
  return static_cast<std::size_t>(found - header_.begin());
}

bool CsvReader::next() {
  do {
    if (error_ || rest_.empty()) return false;
    read_row();
  } while (cells_.size() == 1 && cells_[0].empty());
  if (!header_.empty() && cells_.size() != header_.size() && !error_)
    fail(fmt::format("{} for {}", counted(cells_.size(), "cell"), counted(header_.size(), "column")));
  return !error_;
}

void CsvReader::fail(std::string_view what) {
  if (!error_) error_ = {ErrorCode::kInvalidFile, fmt::format("{}:{}: {}", source_, line_, what)};
}

void CsvReader::fail_number(std::size_t column) {
  fail(fmt::format("{} is {}, but must be a number that is 0 or more", printable(header_[column]),
                   in_quotes(cells_[column])));
}

void CsvReader::read_row() {
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
  if (quoted) fail("a quotation mark is not closed on the same line");
  rest_.remove_prefix(std::min(i + 1, rest_.size()));
}

}  // namespace checkmate
