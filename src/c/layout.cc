#include "checkmate/layout.h"

#include "c/boundary.h"
#include "c/handles.h"

namespace {

using namespace checkmate;
using namespace checkmate::c;

checkmate_layout_options default_options() {
  const LayoutOptions ours;
  checkmate_layout_options options{};
  options.struct_size = sizeof(options);
  options.time_limit = ours.time_limit.count();
  options.seed = ours.seed;
  options.alignment = ours.alignment.count();
  return options;
}

LayoutOptions options_of(const checkmate_layout_options& theirs) {
  LayoutOptions options{.time_limit = std::chrono::duration<double>(theirs.time_limit),
                        .seed = theirs.seed,
                        .alignment = Bytes{theirs.alignment}};
  if (theirs.capacity != 0) options.capacity = Bytes{theirs.capacity};
  options.moves = theirs.moves;
  return options;
}

/// What each of blocks_of() is: the outputs of a step's op, then its workspace.
std::vector<std::uint32_t> tensors_of(const Graph& graph, const Plan& plan) {
  std::vector<std::uint32_t> tensors;
  for (const OpId op : plan.steps) {
    for (const TensorId tensor : graph.outputs(op)) tensors.push_back(tensor.value);
    if (graph.workspace(op) > Bytes{0}) tensors.push_back(CHECKMATE_WORKSPACE);
  }
  return tensors;
}

}  // namespace

void checkmate_layout_options_init(checkmate_layout_options* options, size_t struct_size) {
  write_defaults(default_options(), options, struct_size);
}

checkmate_code checkmate_lay_out(const checkmate_graph* graph, const checkmate_result* result,
                                 const checkmate_layout_options* options, checkmate_layout** layout,
                                 char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(graph, "graph"));
    CHECKMATE_TRY(given(result, "result"));
    CHECKMATE_TRY(given(layout, "layout"));
    CHECKMATE_TRY(const checkmate_layout_options theirs, read(options, "options", default_options()));
    if (!result->result.plan) return Error{ErrorCode::kInvalidPlan, "the result has no plan to lay out"};
    const Plan& plan = *result->result.plan;
    CHECKMATE_TRY(const std::vector<Block> blocks, blocks_of(graph->graph, plan));
    const std::stop_token stop =
        theirs.cancel == nullptr ? std::stop_token() : theirs.cancel->source.get_token();
    CHECKMATE_TRY(const LayoutResult found, lay_out(blocks, options_of(theirs), stop));
    const std::vector<std::uint32_t> tensors = tensors_of(graph->graph, plan);
    std::vector<checkmate_block> addressed;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      addressed.push_back({.tensor = tensors[i],
                           .first = blocks[i].first,
                           .last = blocks[i].last,
                           .offset = found.layout.offsets[i].count(),
                           .size = blocks[i].size.count()});
    }
    *layout = new checkmate_layout{found.layout.size, found.peak, std::move(addressed)};
    return {};
  });
}

void checkmate_layout_free(checkmate_layout* layout) { delete layout; }

int64_t checkmate_layout_size(const checkmate_layout* layout) { return or_empty(layout).size.count(); }

int64_t checkmate_layout_peak(const checkmate_layout* layout) { return or_empty(layout).peak.count(); }

const checkmate_block* checkmate_layout_blocks(const checkmate_layout* layout, size_t* count) {
  const std::vector<checkmate_block>& blocks = or_empty(layout).blocks;
  if (count != nullptr) *count = blocks.size();
  return blocks.data();
}
