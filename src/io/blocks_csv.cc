#include <fmt/format.h>

#include "checkmate/file.h"
#include "checkmate/io.h"
#include "core/csv.h"
#include "core/text.h"
#include "core/try.h"

namespace checkmate {
namespace {

std::uint32_t moment(CsvReader& csv, std::size_t column) {
  const auto value = csv.number<std::int64_t>(column);
  if (value > UINT32_MAX) csv.fail(fmt::format("moment {} is above 2^32 - 1; number them from 0", value));
  return static_cast<std::uint32_t>(value);
}

}  // namespace

Result<BlockTable> parse_blocks(std::string_view text, const std::string& source) {
  CsvReader csv(text, source);
  const std::size_t id = csv.column("id"), lower = csv.column("lower");
  const std::size_t upper = csv.column("upper"), size = csv.column("size");
  BlockTable table;
  while (csv.next()) {
    const Block block{Bytes{csv.number<std::int64_t>(size)}, moment(csv, lower), moment(csv, upper)};
    if (block.last < block.first)
      csv.fail(fmt::format("upper {} is below lower {}", block.last, block.first));
    table.ids.push_back(csv.cell(id));
    table.blocks.push_back(block);
  }
  if (csv.error()) return *csv.error();
  return table;
}

Result<BlockTable> read_blocks(const std::filesystem::path& path) {
  CHECKMATE_TRY(const std::string text, read_file(path));
  return parse_blocks(text, printable(path.string(), 4096));
}

std::string layout_to_csv(const BlockTable& table, const Layout& layout) {
  std::string text = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < table.blocks.size(); ++i) {
    const Block& block = table.blocks[i];
    text += csv_line({table.ids[i], std::to_string(block.first), std::to_string(block.last),
                      std::to_string(block.size.count()), std::to_string(layout.offsets[i].count())});
  }
  return text;
}

}  // namespace checkmate
