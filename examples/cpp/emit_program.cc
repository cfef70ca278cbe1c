#include <checkmate/checkmate.h>

#include <chrono>
#include <iostream>
#include <span>
#include <string>

// What a compiler does with a plan: a line for each run and for each free. Here it is text; a real one calls
// kernels.
//
//     emit_program 'zoo:unet?batch=32' 60%

namespace {

using namespace checkmate;

std::string list(const Graph& graph, std::span<const TensorId> tensors) {
  std::string text;
  for (const TensorId tensor : tensors) text += (text.empty() ? "" : ", ") + std::string(graph.name(tensor));
  return text;
}

void emit(const Graph& graph, const Plan& plan) {
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const OpId op = plan.steps[step];
    std::cout << list(graph, graph.outputs(op)) << " = " << graph.name(op) << "("
              << list(graph, graph.inputs(op)) << ")\n";
    const std::span<const TensorId> freed = plan.frees.after(step);
    if (!freed.empty()) std::cout << "  free " << list(graph, freed) << "\n";
  }
}

int fail(const Error& error) {
  std::cerr << error.message << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail({ErrorCode::kInvalidArgument, "usage: emit_program GRAPH BUDGET"});
  const Result<Graph> graph = load_graph(argv[1]);
  if (!graph) return fail(graph.error());
  const Result<Bytes> budget = parse_budget(*graph, argv[2]);
  if (!budget) return fail(budget.error());

  SolveOptions options{.budget = *budget};
  options.time_limit = std::chrono::seconds(2);
  options.threads = 2;
  options.on_progress = [&graph](const Progress& progress) {
    if (progress.cost) std::cerr << progress.seconds << " s: " << overhead(*graph, *progress.cost) << "x\n";
  };
  const Result<SolveResult> result = solve(*graph, options);
  if (!result) return fail(result.error());
  if (!result->plan) return fail({ErrorCode::kInvalidArgument, result->detail});

  emit(*graph, *result->plan);
  std::cerr << "peak " << to_string(*result->peak) << " of " << to_string(*budget) << ", "
            << overhead(*graph, *result->cost) << "x the work, at most "
            << 100 * relative_gap(*result->cost, result->lower_bound) << "% from the best possible\n";
}
