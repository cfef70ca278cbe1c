#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/result.h"

namespace checkmate::tool {

/// Rows under a header, columns aligned: the first to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// `name   value`, aligned over several lines.
void print_fact(std::string_view name, std::string_view value);

/// To a file, whole or not at all, or to stdout for `-`.
Result<void> write_output(const std::string& path, std::string_view text);

/// 1.0525 as `1.0525x`; a share such as 0.012 as `1.2%`.
std::string times(double ratio);
std::string percent(double share);
std::string seconds_text(double seconds);

/// Progress goes to stderr, and only where somebody watches.
bool progress_wanted();

}  // namespace checkmate::tool
