#include <fmt/format.h>

#include <array>

#include "checkmate/file.h"
#include "checkmate/io.h"
#include "checkmate/zoo.h"
#include "core/guarded.h"
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
  constexpr std::array<JsonReader::Field, 4> kTelling = {{{"format"}, {"nodes"}, {"links"}, {"edges"}}};
  constexpr std::string_view kOurs = "checkmate.graph";
  JsonReader json(std::move(text), source);
  std::array<bool, kTelling.size()> seen{};
  json.object(kTelling, JsonReader::Others::kIgnore, [&](std::size_t field) {
    seen.at(field) = true;
    if (field == 0 && json.string() != kOurs)
      json.fail("expected \"checkmate.graph\"; this is another kind of file");
  });
  json.rewind();
  if (seen[0]) return guarded([&] { return read_checkmate_graph(json, source); });
  if (seen[1] || seen[2] || seen[3]) return guarded([&] { return read_node_link_graph(json, source); });
  if (!json.failed())
    json.fail("neither a checkmate.graph (no \"format\") nor a node-link graph (no \"nodes\")");
  return json.finish().error();
}

Result<Graph> build_with_costs(GraphBuilder builder, std::span<const DecimalCost> costs,
                               std::string_view cost_unit) {
  CHECKMATE_TRY(WholeCosts whole, whole_costs(costs, cost_unit));
  CHECKMATE_TRY(builder.set_costs(std::move(whole.costs)));
  builder.set_cost_unit(std::move(whole.unit));
  return std::move(builder).build();
}

}  // namespace checkmate
