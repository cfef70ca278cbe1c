#include "checkmate/bound.h"

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

}  // namespace checkmate
