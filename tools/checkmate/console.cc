#include "console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "checkmate/file.h"
#include "core/text.h"
#include "terminal.h"

namespace checkmate::tool {
namespace {

using Rows = std::vector<std::vector<std::string>>;
constexpr std::size_t kBetween = 2;

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

std::size_t table_width(const Rows& rows) {
  const std::vector<std::size_t> widths = widths_of(rows);
  return std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
}

/// The rows, reduced to this number of columns.
Rows narrowed(Rows rows, const std::vector<std::string>& spare, std::size_t columns) {
  for (const std::string& name : spare) {
    if (table_width(rows) <= columns) break;
    const auto place = std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin();
    for (auto& row : rows) {
      if (place < static_cast<std::ptrdiff_t>(row.size())) row.erase(row.begin() + place);
    }
  }
  constexpr std::size_t kShortest = 8;
  const std::size_t width = table_width(rows);
  if (width <= columns) return rows;
  const std::size_t first = widths_of(rows)[0];
  const std::size_t room = std::max(kShortest, first - std::min(first, width - columns));
  for (auto& row : rows) row[0] = cut_to(row[0], room);
  return rows;
}

}  // namespace

void Table::print() const {
  const Rows rows = out_terminal().watched ? narrowed(rows_, spare_, out_terminal().columns) : rows_;
  const std::vector<std::size_t> widths = widths_of(rows);
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - width_of(row[i]), ' ');
      line += i == 0 ? row[i] + pad : std::string(kBetween, ' ') + pad + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

namespace {

/// `begin`, then the value, which on a terminal is broken between words into lines that begin with as many
/// spaces as `begin` is wide.
void print_broken(std::string begin, std::string_view value) {
  const std::size_t indent = begin.size();
  const std::size_t columns = out_terminal().columns;
  const std::size_t room = columns > indent + 20 ? columns - indent : 0;
  while (out_terminal().watched && room > 0 && width_of(value) > room) {
    // The last space before the edge; a word that is longer than the line is left to the terminal.
    std::size_t end = 0;
    for (std::size_t at = value.find(' '); at != std::string_view::npos; at = value.find(' ', at + 1)) {
      if (width_of(value.substr(0, at)) > room) break;
      end = at;
    }
    if (end == 0) break;
    fmt::print("{}{}\n", begin, value.substr(0, end));
    value.remove_prefix(end + 1);
    begin.assign(indent, ' ');
  }
  fmt::print("{}{}\n", begin, value);
}

}  // namespace

void print_fact(std::string_view name, std::string_view value) {
  print_broken(fmt::format("{:<{}}", name, kFactColumn), value);
}

void print_line(std::string_view text, std::string_view before) { print_broken(std::string(before), text); }

void print_json_line(std::string_view json) { fmt::print("{}\n", printable_json(json)); }

void tell(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

Result<void> folder_is_there(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failure;
  if (path == "-" || folder.empty() || std::filesystem::is_directory(folder, failure)) return {};
  return Error{ErrorCode::kIo,
               fmt::format("{}: there is no folder {}", printable(path, 4096), in_quotes(folder.string()))};
}

Result<void> write_output(const std::string& path, std::string_view text) {
  if (path != "-") return write_file(path, text);
  fmt::print("{}", out_terminal().watched ? printable_json(text) : std::string(text));  // a pipe: as a file
  return {};
}

void print_written(std::string_view path, std::size_t size) {
  fmt::print("{}: {}\n", printable(path, 4096), to_string(Bytes{static_cast<std::int64_t>(size)}));
}

std::string times(double ratio) { return fmt::format("{:.4f}x", ratio); }
std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }
std::string percent_at_most(double share) {
  if (share == 0) return "0%";
  return share < 0.01 ? fmt::format("{:.3f}%", std::ceil(share * 1e5) / 1e3) : percent(share);
}
std::string seconds_text(double seconds) { return fmt::format("{:.3f} s", seconds); }

bool progress_wanted() { return err_terminal().watched; }

}  // namespace checkmate::tool
