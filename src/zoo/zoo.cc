#include "checkmate/zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/guarded.h"
#include "core/text.h"
#include "zoo/recipe.h"

namespace checkmate::zoo {
namespace {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kept = [] {
    std::vector<Recipe> all;
    for (const auto family : {chains, vggs, mobilenets, resnets, segmenters, densenets, inceptions,
                              transformers, random_graphs}) {
      const std::span<const Recipe> members = family();
      all.insert(all.end(), members.begin(), members.end());
    }
    return all;
  }();
  return kept;
}

Error unknown(std::string_view what, std::string_view given, const std::vector<std::string_view>& known) {
  return {ErrorCode::kInvalidArgument,
          known.empty()
              ? fmt::format("unknown {} {}; this network has none", what, in_quotes(given))
              : fmt::format("unknown {} {}; known are {}", what, in_quotes(given), fmt::join(known, ", "))};
}

Result<Arguments> parse_arguments(const Network& network, std::string_view text) {
  std::vector<std::string_view> known;
  for (const Parameter& parameter : network.parameters) known.push_back(parameter.name);

  Arguments::Values values;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::string_view key = pair.substr(0, pair.find('='));
    if (key.size() == pair.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} is not a parameter; write name=value", in_quotes(pair))};
    }
    if (std::find(known.begin(), known.end(), key) == known.end()) return unknown("parameter", key, known);
    if (!values.emplace(key, pair.substr(key.size() + 1)).second) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("parameter {} is given twice", in_quotes(key))};
    }
  }
  for (const Parameter& parameter : network.parameters) values.emplace(parameter.name, parameter.fallback);
  return Arguments(std::move(values));
}

}  // namespace

std::span<const Network> networks() {
  static const std::vector<Network> kept = [] {
    std::vector<Network> all;
    for (const Recipe& recipe : recipes()) all.push_back(recipe.network);
    return all;
  }();
  return kept;
}

Result<Graph> build(std::string_view spec) {
  const std::string place = "zoo:" + printable(spec);
  const std::string_view name = spec.substr(0, spec.find('?'));
  const auto recipe = std::find_if(recipes().begin(), recipes().end(),
                                   [&](const Recipe& r) { return r.network.name == name; });
  if (recipe == recipes().end()) {
    std::vector<std::string_view> known;
    for (const Network& network : networks()) known.push_back(network.name);
    return unknown("network", name, known).at(place);
  }
  Result<Arguments> arguments =
      parse_arguments(recipe->network, spec.substr(std::min(spec.size(), name.size() + 1)));
  if (!arguments) return arguments.error().at(place);
  Result<Graph> graph = guarded([&] { return recipe->build(std::string(spec), *arguments); });
  if (!graph) return graph.error().at(place);
  return graph;
}

Result<std::string> with_batch(std::string_view spec, std::int64_t batch) {
  const std::size_t query = spec.find('?');
  const std::string_view parameters = query == std::string_view::npos ? "" : spec.substr(query + 1);
  if (parameters.starts_with("batch=") || parameters.find("&batch=") != std::string_view::npos) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: omit batch=; it is determined", in_quotes(spec))};
  }
  return fmt::format("{}{}batch={}", spec, query == std::string_view::npos ? "?" : "&", batch);
}

}  // namespace checkmate::zoo
