#include "support/graphs.h"

#include <algorithm>
#include <string>

namespace checkmate::testing {

std::uint64_t below(std::mt19937_64& random, std::uint64_t bound) { return random() % bound; }

TensorId add(GraphBuilder& b, std::string name, std::int64_t cost, std::int64_t bytes,
             std::vector<TensorId> inputs) {
  return b.add_op_with_output(
      {.name = std::move(name), .cost = Cost{cost}, .inputs = std::move(inputs), .outputs = {}},
      Bytes{bytes});
}

Graph diamond() {
  GraphBuilder b("diamond");
  const TensorId x = add(b, "x", 1, 10);
  const TensorId left = add(b, "a", 2, 10, {x});
  const TensorId right = add(b, "b", 3, 10, {x});
  add(b, "y", 4, 10, {left, right});
  return std::move(b).build().value();
}

Graph fork() {
  GraphBuilder b("fork");
  const TensorId x = add(b, "x", 1, 2);
  const TensorId left = add(b, "a", 1, 2, {x});
  const TensorId right = add(b, "b", 1, 2, {x});
  add(b, "v", 1, 0, {left, right});
  return std::move(b).build().value();
}

Graph out_of_order() {
  GraphBuilder b("out_of_order");
  const TensorId first = add(b, "op0", 1, 5);
  const TensorId second = add(b, "op1", 1, 4);
  const TensorId third = add(b, "op2", 1, 3, {first});
  add(b, "op3", 1, 0, {first, second});
  add(b, "op4", 1, 1, {second, third});
  return std::move(b).build().value();
}

Graph late_use(std::int64_t batch) {
  GraphBuilder b("late_use");
  const TensorId x = add(b, "x", 1, 10 * batch);
  const TensorId first = add(b, "a", 1, 20 * batch, {x});
  const TensorId second = add(b, "b", 1, 20 * batch, {first});
  add(b, "y", 1, 10 * batch, {second, x});
  return std::move(b).build().value();
}

Graph chain(int layers) { return zoo::build("linear?n=" + std::to_string(layers)).value(); }

Graph skip_chain(int layers) {
  GraphBuilder b("skip_chain");
  std::vector<TensorId> values;
  for (int i = 0; i < layers; ++i) {
    std::vector<TensorId> inputs;
    if (i >= 1) inputs.push_back(values[static_cast<std::size_t>(i) - 1]);
    if (i >= 2) inputs.push_back(values[static_cast<std::size_t>(i) - 2]);
    values.push_back(b.add_op_with_output(
        {.name = "f" + std::to_string(i), .cost = Cost{1}, .inputs = inputs, .outputs = {}}, Bytes{1}));
  }
  std::vector<TensorId> upstream;
  for (int i = layers; i-- > 0;) {
    std::vector<TensorId> inputs = upstream;
    inputs.push_back(values[static_cast<std::size_t>(i)]);
    upstream = {b.add_op_with_output({.name = "g" + std::to_string(i),
                                      .cost = Cost{2},
                                      .inputs = inputs,
                                      .outputs = {},
                                      .phase = Phase::kBackward},
                                     Bytes{1})};
  }
  return std::move(b).build().value();
}

Graph full_featured() {
  GraphBuilder b("full");
  const TensorId weight = b.add_tensor({.name = "weight", .bytes = Bytes{100}, .resident = true});
  const TensorId hidden = b.add_tensor({.name = "hidden", .bytes = Bytes{10}});
  const TensorId statistics = b.add_tensor({.name = "statistics", .bytes = Bytes{2}});
  const TensorId mask = b.add_tensor({.name = "mask", .bytes = Bytes{1}});
  const TensorId loss = b.add_tensor({.name = "loss", .bytes = Bytes{4}, .output = true});
  const TensorId gradient = b.add_tensor({.name = "gradient", .bytes = Bytes{100}, .output = true});
  b.add_op({.name = "norm",
            .kind = "layer_norm",
            .cost = Cost{7},
            .inputs = {weight},
            .outputs = {hidden, statistics},
            .workspace = Bytes{5}});
  b.add_op({.name = "drop", .cost = Cost{1}, .inputs = {hidden}, .outputs = {mask}, .recomputable = false});
  b.add_op(
      {.name = "loss", .cost = Cost{2}, .inputs = {hidden, mask}, .outputs = {loss}, .phase = Phase::kLoss});
  b.add_op({.name = "grad",
            .cost = Cost{9},
            .inputs = {statistics, mask, weight},
            .outputs = {gradient},
            .phase = Phase::kBackward});
  b.set_reserved_bytes(Bytes{1000});
  return std::move(b).build().value();
}

Graph weight_gradients() {
  struct Row {
    const char* name;
    std::int64_t cost, bytes;
    bool output;
    std::vector<std::uint32_t> inputs;  // ops
    std::int64_t workspace = 0;
  };
  const std::vector<Row> rows = {{"layer1", 6580, 8192, false, {}},
                                 {"layer2", 6456, 8192, false, {0}},
                                 {"layer3", 4299, 4096, false, {1}},
                                 {"square", 8043, 4096, false, {2}},
                                 {"loss", 9935, 4, true, {3}, 12},
                                 {"ones", 11428, 4, false, {4}},
                                 {"div", 14533, 4096, false, {5}, 12},
                                 {"square_grad", 395300, 4096, false, {2, 6}, 12},
                                 {"layer3_grad_input", 9383, 8192, false, {7}},
                                 {"layer3_grad_weight", 192440, 8192, true, {7, 1}},
                                 {"layer3_grad_bias", 3745, 128, true, {7}},
                                 {"tanh2_grad", 178000, 8192, false, {8, 1}},
                                 {"layer2_grad_input", 15620, 8192, false, {11}},
                                 {"layer2_grad_weight", 31714, 16384, true, {11, 0}},
                                 {"layer2_grad_bias", 19448, 256, true, {11}},
                                 {"tanh1_grad", 178000, 8192, false, {12, 0}},
                                 {"layer1_grad_weight", 8990, 8192, true, {15}},
                                 {"layer1_grad_bias", 194480, 256, true, {15}}};
  GraphBuilder b("weight_gradients");
  std::vector<TensorId> made;
  for (const Row& row : rows) {
    made.push_back(b.add_tensor({.name = row.name, .bytes = Bytes{row.bytes}, .output = row.output}));
    OpSpec op{.name = row.name, .cost = Cost{row.cost}, .inputs = {}, .outputs = {made.back()}};
    for (const std::uint32_t input : row.inputs) op.inputs.push_back(made[input]);
    op.workspace = Bytes{row.workspace};
    b.add_op(op);
  }
  return std::move(b).build().value();
}

Graph random_graph(std::uint64_t seed, std::size_t ops, const Features& features) {
  std::mt19937_64 random(seed);
  const auto one_in = [&](bool enabled, std::uint64_t n) { return enabled && below(random, n) == 0; };
  GraphBuilder b("random");
  std::vector<TensorId> known;
  if (features.resident)
    known.push_back(b.add_tensor({.name = "weight", .bytes = Bytes{3}, .resident = true}));
  for (std::size_t i = 0; i < ops; ++i) {
    OpSpec op{.name = "op" + std::to_string(i),
              .cost = Cost{static_cast<std::int64_t>(below(random, 6))},
              .inputs = {},
              .outputs = {}};
    for (std::uint64_t k = below(random, 4); k > 0 && !known.empty(); --k) {
      // Mostly near, sometimes far: long stays are what recomputation is about.
      const std::size_t reach = one_in(true, 3) ? known.size() : std::min<std::size_t>(known.size(), 3);
      op.inputs.push_back(known[known.size() - 1 - below(random, reach)]);
    }
    if (one_in(features.workspace, 3)) op.workspace = Bytes{static_cast<std::int64_t>(below(random, 4))};
    if (features.phases && i >= ops / 2) op.phase = Phase::kBackward;
    op.recomputable = !one_in(features.run_once, 6);
    const std::uint64_t outputs = one_in(features.several_outputs, 3) ? 2 : 1;
    for (std::uint64_t k = 0; k < outputs; ++k) {
      op.outputs.push_back(b.add_tensor({.name = "t" + std::to_string(i) + "." + std::to_string(k),
                                         .bytes = Bytes{static_cast<std::int64_t>(below(random, 6))},
                                         .output = one_in(features.outputs, features.an_output_in)}));
    }
    b.add_op(op);
    known.insert(known.end(), op.outputs.begin(), op.outputs.end());
  }
  return std::move(b).build().value();
}

Bytes random_budget(const Graph& graph, std::mt19937_64& random) {
  const std::int64_t low = structural_minimum(graph).bytes.count();
  const std::int64_t high = keep_all_peak(graph).count();
  const auto extra = static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(high - low + 1)));
  return graph.fixed_bytes() + Bytes{std::max<std::int64_t>(low + extra, 1)};
}

Case random_case(std::uint64_t seed, std::size_t fewest) {
  std::mt19937_64 random(seed);
  Graph graph = random_graph(seed, fewest + below(random, 6), seed % 3 == 0 ? Features{} : Features::all());
  const Bytes budget = random_budget(graph, random);
  return {std::move(graph), budget};
}

SolveResult solved(const Graph& graph, std::string_view method, Bytes budget, Order order) {
  return solve(graph, {.budget = budget, .method = std::string(method), .order = order, .moves = 3000})
      .value();
}

std::uint64_t share_of(std::uint64_t cases) {
#ifdef CHECKMATE_SANITIZED
  return cases / 8;
#else
  return cases;
#endif
}

std::vector<OpId> random_steps(const Graph& graph, std::mt19937_64& random, double recomputations) {
  std::vector<OpId> steps;
  for (const OpId op : graph.ops()) {
    while (op.value > 0 &&
           static_cast<double>(below(random, 1000)) < 1000 * recomputations / (1 + recomputations)) {
      const OpId again{static_cast<std::uint32_t>(below(random, op.value))};
      if (graph.recomputable(again)) steps.push_back(again);
      if (!graph.recomputable(again)) break;
    }
    steps.push_back(op);
  }
  return steps;
}

}  // namespace checkmate::testing
