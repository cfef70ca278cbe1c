#include <checkmate/checkmate.h>

#include <iostream>

int main() {
  using namespace checkmate;
  using namespace checkmate::literals;

  // Two layers, a loss, and the backward pass, which reads the layers' outputs.
  GraphBuilder builder("two layers");
  const TensorId weight = builder.add_tensor({.name = "weight", .bytes = 1_MiB, .resident = true});
  const TensorId a = builder.add_tensor({.name = "a", .bytes = 8_MiB});
  const TensorId b = builder.add_tensor({.name = "b", .bytes = 8_MiB});
  const TensorId loss = builder.add_tensor({.name = "loss", .bytes = 4_B, .output = true});
  const TensorId grad_b = builder.add_tensor({.name = "grad b", .bytes = 8_MiB});
  const TensorId grad = builder.add_tensor({.name = "grad", .bytes = 1_MiB, .output = true});
  builder.add_op({.name = "layer 1", .cost = Cost{30}, .inputs = {weight}, .outputs = {a}});
  builder.add_op({.name = "layer 2", .cost = Cost{50}, .inputs = {a, weight}, .outputs = {b}});
  builder.add_op({.name = "loss", .cost = Cost{1}, .inputs = {b}, .outputs = {loss}, .phase = Phase::kLoss});
  builder.add_op(
      {.name = "back 2", .cost = Cost{90}, .inputs = {b}, .outputs = {grad_b}, .phase = Phase::kBackward});
  builder.add_op({.name = "back 1",
                  .cost = Cost{60},
                  .inputs = {a, grad_b},
                  .outputs = {grad},
                  .phase = Phase::kBackward});
  const Result<Graph> graph = std::move(builder).build();
  if (!graph) {
    std::cerr << graph.error().message << "\n";
    return 1;
  }

  const Result<SolveResult> result = solve(*graph, {.budget = 20_MiB});
  if (!result || !result->plan) return 1;
  std::cout << to_string(result->status) << ", overhead " << overhead(*graph, *result->cost) << ", peak "
            << to_string(*result->peak) << "\n";
  for (const OpId op : result->plan->steps) std::cout << graph->name(op) << "\n";
}
