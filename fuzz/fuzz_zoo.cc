// Any text as a zoo spec, a size and a budget: an error or a value, never a crash.
#include <cstdint>
#include <string>

#include "checkmate/checkmate.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace checkmate;
  static const Graph graph = zoo::build("linear?n=4").value();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<Bytes> bytes = parse_bytes(text);
  require(!bytes || *bytes >= Bytes{0});
  const Result<Bytes> budget = parse_budget(graph, text);
  require(!budget || *budget > Bytes{0});
  // Large networks are right but slow: the fuzzer is after the parsing.
  constexpr std::size_t kShort = 24;
  if (size <= kShort && text.find("n=") == std::string::npos && text.find("layers") == std::string::npos) {
    const Result<Graph> built = zoo::build(text);
    require(!built || built->op_count() > 0);
  }
  return 0;
}
