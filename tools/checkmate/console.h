#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/result.h"

namespace checkmate::tool {

/// Rows under a header, columns aligned: the first to the left, the others to the right. On a terminal that
/// is too narrow, columns are left out, those of `spare` in their order, and then the first one is cut.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<std::string> spare = {})
      : rows_{std::move(header)}, spare_(std::move(spare)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> spare_;
};

inline constexpr std::size_t kFactColumn = 22;  ///< where the values begin
/// `name   value`, aligned over several lines; on a terminal, long values are broken between words.
void print_fact(std::string_view name, std::string_view value);
/// A line of its own, broken in the same way; continuation lines are indented by the width of `before`.
void print_line(std::string_view text, std::string_view before = {});

/// One JSON object or other text in JSON on a line of its own.
void print_json_line(std::string_view json);
/// To stderr. Where that is closed or full there is nobody to tell, which is no reason to fail.
void tell(std::string_view text);

/// To be called before long work: an error unless the folder of the file exists. Never an error for `-`.
Result<void> folder_is_there(const std::string& path);
/// To a file, whole or not at all, or to stdout for `-`.
Result<void> write_output(const std::string& path, std::string_view text);

/// `name: 69.8 KiB`, for a file that was written.
void print_written(std::string_view path, std::size_t size);

/// 1.0525 as `1.0525x`; a share such as 0.012 as `1.2%`.
std::string times(double ratio);
std::string percent(double share);
/// A share that is an upper bound: rounded up, small ones with more digits; 0 only where it is 0.
std::string percent_at_most(double share);
std::string seconds_text(double seconds);

/// Progress goes to stderr, and only to a terminal.
bool progress_wanted();

}  // namespace checkmate::tool
