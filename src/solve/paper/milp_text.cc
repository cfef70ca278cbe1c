#include "checkmate/milp_text.h"

#include "lp/linear_program.h"
#include "solve/paper/stage_model.h"

namespace checkmate {

Result<std::string> milp_text(const Graph& graph, const SolveOptions& options, std::string_view format) {
  const Partition partition = options.free_stages ? Partition::kFree : Partition::kFrontier;
  if (const std::optional<std::string> refusal = stage_model_refusal(graph, partition)) {
    return Error{ErrorCode::kTooLarge, *refusal};
  }
  const StageModel model(graph, {.budget = options.budget, .partition = partition, .named = true});
  return LinearSolver(model.program()).text(format);
}

}  // namespace checkmate
