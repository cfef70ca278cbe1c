#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "search_thread.h"

namespace checkmate::python {
namespace {

using namespace nb::literals;

/// size, first, last
using BlockRow = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;

std::vector<BlockRow> block_rows(const Graph& graph, const Plan& plan) {
  std::vector<BlockRow> rows;
  for (const Block& block : value_or_raise(blocks_of(graph, plan)))
    rows.emplace_back(block.size.count(), block.first, block.last);
  return rows;
}

std::vector<Block> blocks_of_rows(const std::vector<BlockRow>& rows) {
  std::vector<Block> blocks;
  blocks.reserve(rows.size());
  for (const auto& [size, first, last] : rows) blocks.push_back({Bytes{size}, first, last});
  return blocks;
}

/// offsets, size, peak, optimal, seconds
using LayoutRow = std::tuple<std::vector<std::int64_t>, std::int64_t, std::int64_t, bool, double>;

LayoutRow lay_out_in_background(const std::vector<BlockRow>& rows, double time_limit, std::uint64_t seed,
                                std::int64_t alignment, std::optional<std::int64_t> capacity,
                                std::uint64_t moves) {
  const std::vector<Block> blocks = blocks_of_rows(rows);
  const LayoutOptions options{
      .time_limit = std::chrono::duration<double>(time_limit),
      .seed = seed,
      .alignment = Bytes{alignment},
      .capacity = capacity ? std::optional(Bytes{*capacity}) : std::nullopt,
      .moves = moves,
  };
  const nb::object nothing = nb::none();
  SearchThread search_thread(nothing);
  const LayoutResult result = search_thread.run(
      [&](std::stop_token stop) { return value_or_raise(lay_out(blocks, options, std::move(stop))); },
      [](const LayoutResult&) { return true; });
  std::vector<std::int64_t> offsets;
  offsets.reserve(blocks.size());
  for (const Bytes offset : result.layout.offsets) offsets.push_back(offset.count());
  return {std::move(offsets), result.layout.size.count(), result.peak.count(), result.optimal,
          result.seconds};
}

void check_rows(const std::vector<BlockRow>& rows, const std::vector<std::int64_t>& offsets,
                std::int64_t size, std::int64_t alignment) {
  Layout layout{{}, Bytes{size}, Bytes{alignment}};
  for (const std::int64_t offset : offsets) layout.offsets.emplace_back(offset);
  raise_if_failed(check_layout(blocks_of_rows(rows), layout));
}

}  // namespace

void bind_layout(nb::module_& module) {
  module.def("blocks_of", block_rows, "graph"_a, "plan"_a);
  module.def("lay_out", lay_out_in_background, "blocks"_a, "time_limit"_a, "seed"_a, "alignment"_a,
             "capacity"_a.none(), "moves"_a);
  module.def("check_layout", check_rows, "blocks"_a, "offsets"_a, "size"_a, "alignment"_a,
             nb::call_guard<nb::gil_scoped_release>());
  const LayoutOptions defaults;
  module.attr("default_layout_time_limit") = defaults.time_limit.count();
  module.attr("default_alignment") = defaults.alignment.count();
}

}  // namespace checkmate::python
