// Any bytes as a table of blocks: an error, or blocks that survive their round trip and can be laid out.
#include <cstdint>
#include <string>

#include "checkmate/checkmate.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace checkmate;
  const Result<BlockTable> table = parse_blocks({reinterpret_cast<const char*>(data), size});
  if (!table) return 0;
  const Result<LayoutResult> result = lay_out(table->blocks, {.alignment = Bytes{1}, .moves = 50});
  if (!result) return 0;
  const Result<BlockTable> again = parse_blocks(layout_to_csv(*table, result->layout));
  require(again.has_value() && again->blocks == table->blocks);
  return 0;
}
