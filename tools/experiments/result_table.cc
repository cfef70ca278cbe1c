#include "experiments/result_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/csv.h"

namespace checkmate::experiments {

std::string ResultTable::csv() const {
  std::string text = csv_line(header);
  for (const auto& row : rows) text += csv_line(row);
  return text;
}

std::string ResultTable::markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  std::string text = fmt::format("## {}\n\n", title) + line(header) + "|";
  for (std::size_t i = 0; i < header.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : rows) text += line(row);
  return text + (remark.empty() ? "" : "\n" + remark + "\n");
}

}  // namespace checkmate::experiments
