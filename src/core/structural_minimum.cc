#include "checkmate/structural_minimum.h"

#include <fmt/format.h>

#include "core/text.h"

namespace checkmate {

StructuralMinimum structural_minimum(const Graph& graph) {
  StructuralMinimum minimum{.bytes = Bytes{-1}, .op = {}};
  for (const OpId op : graph.ops()) {
    Bytes own = graph.workspace(op);
    for (const TensorId tensor : graph.outputs(op)) own += graph.bytes(tensor);
    for (const TensorId tensor : graph.inputs(op)) {
      if (!graph.resident(tensor)) own += graph.bytes(tensor);
    }
    if (own > minimum.bytes) minimum = {.bytes = own, .op = op};
  }
  return minimum;
}

std::string describe(const Graph& graph, const StructuralMinimum& minimum) {
  return fmt::format("op {} {} alone needs {} with its inputs, outputs and workspace", minimum.op.value,
                     in_quotes(graph.name(minimum.op)), exact(graph.fixed_bytes() + minimum.bytes));
}

}  // namespace checkmate
