#include <fmt/format.h>

#include <array>

#include "checkmate/file.h"
#include "checkmate/io.h"
#include "checkmate/zoo.h"
#include "core/text.h"
#include "core/try.h"
#include "io/formats.h"

namespace checkmate {

Result<Graph> load_graph(std::string_view argument) {
  constexpr std::string_view kZoo = "zoo:";
  if (argument.starts_with(kZoo)) return zoo::build(argument.substr(kZoo.size()));
  return read_graph(std::filesystem::path(argument));
}

Result<Graph> read_graph(const std::filesystem::path& path) {
  CHECKMATE_TRY(std::string text, read_file(path));
  return parse_graph(std::move(text), printable(path.string(), 4096));
}

Result<Graph> parse_graph(std::string text, const std::string& source) {
  constexpr std::array<JsonReader::Field, 3> kTelling = {{{"format"}, {"nodes"}, {"links"}}};
  constexpr std::string_view kOurs = "checkmate.graph";
  JsonReader json(std::move(text), source);
  std::array<bool, kTelling.size()> seen{};
  json.object(kTelling, JsonReader::Others::kIgnore, [&](std::size_t field) {
    seen.at(field) = true;
    if (field == 0 && json.string() != kOurs)
      json.fail("expected \"checkmate.graph\"; this is another kind of file");
  });
  json.rewind();
  if (seen[0]) return read_checkmate_graph(json, source);
  if (seen[1] || seen[2]) return read_node_link_graph(json, source);
  if (!json.failed())
    json.fail("neither a checkmate.graph (no \"format\") nor a node-link graph (no \"nodes\" and \"links\")");
  return json.finish().error();
}

}  // namespace checkmate
