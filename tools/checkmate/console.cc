#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "checkmate/io.h"

namespace checkmate::tool {
namespace {

/// Characters, not bytes: names are UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void Table::print() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - width_of(row[i]), ' ');
      line += i == 0 ? row[i] + pad : "  " + pad + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

void print_fact(std::string_view name, std::string_view value) { fmt::print("{:<22}{}\n", name, value); }

Result<void> write_output(const std::string& path, std::string_view text) {
  if (path != "-") return write_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Error{ErrorCode::kIo, "cannot write to the standard output"};
}

std::string times(double ratio) { return fmt::format("{:.4f}x", ratio); }
std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }
std::string seconds_text(double seconds) { return fmt::format("{:.3f} s", seconds); }

bool progress_wanted() { return ::isatty(STDERR_FILENO) != 0; }

}  // namespace checkmate::tool
