#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "checkmate/result.h"

namespace checkmate {

/// One row with its line break: cells that hold a comma or a quotation mark are quoted, control characters
/// escaped, so that CsvReader reads what was written and every row is one line.
std::string csv_line(const std::vector<std::string>& cells);

/// A table of text with a header, cells in quotes where they hold a comma. The first failure is
/// kept, with its line.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string source);

  /// The index of a required column.
  std::size_t column(std::string_view name);
  /// The next row that is not empty; false at the end and after a failure.
  bool next();
  const std::string& cell(std::size_t column) const { return cells_[column]; }
  /// The cell as a number that must be 0 or more.
  template <class Number>
  Number number(std::size_t column) {
    Number value{};
    const std::string& text = cells_[column];
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || !(value >= 0)) fail_number(column);
    return value;
  }

  void fail(std::string_view what);
  const std::optional<Error>& error() const { return error_; }

 private:
  void read_row();
  void fail_number(std::size_t column);

  std::string_view rest_;
  std::string source_;
  std::size_t line_ = 0;
  std::vector<std::string> header_, cells_;
  std::optional<Error> error_;
};

}  // namespace checkmate
