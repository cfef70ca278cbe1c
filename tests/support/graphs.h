#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "checkmate/checkmate.h"

/// Tiny named graphs, random ones, and plans of them, for all tests.
namespace checkmate::testing {

/// An op with one output tensor.
TensorId add(GraphBuilder& b, std::string name, std::int64_t cost, std::int64_t bytes,
             std::vector<TensorId> inputs = {});

/// x -> a, b -> y, ten bytes each, costs 1, 2, 3, 4.
Graph diamond();
namespace diamond_ops {  // and those of late_use()
inline constexpr OpId kX{0}, kA{1}, kB{2}, kY{3};
}
/// x, a(x), b(x), v(a, b) with 2, 2, 2 and 0 bytes, unit costs: no op needs more than 4 bytes, no plan fits
/// in less than 6.
Graph fork();
/// Five ops, unit costs: within 11 bytes, only a stage that runs out of index order fits. No smaller graph
/// needs more than the paper's class of plans.
Graph out_of_order();
/// x -> a -> b -> y, where y reads x as well: 10, 20, 20 and 10 bytes for each of `batch`, unit costs.
/// Keep-all peaks at 50 (x, a and b), with x run again before y it is 40 (a and b, or b, x and y).
Graph late_use(std::int64_t batch = 1);
/// `layers` forward ops, loss, and a gradient each, unit costs and sizes: `zoo:linear`.
Graph chain(int layers);
/// A chain of forward ops in which op i also reads op i-2, with gradients: no chain for Chen and Griewank.
Graph skip_chain(int layers);
/// All features at once: a resident weight, an op with two outputs and workspace, a dropout that runs once,
/// an output.
Graph full_featured();
/// As PyTorch's captures are: a loss and the gradients of all weights and biases are outputs, most of them
/// made long before the end. Three layers, 18 ops.
Graph weight_gradients();

struct Features {
  bool several_outputs = false;
  bool workspace = false;
  bool resident = false;
  bool outputs = false;
  bool run_once = false;
  bool phases = false;             ///< the second half of the ops is backward
  std::uint64_t an_output_in = 6;  ///< tensors, where there are outputs
  static Features all() { return {true, true, true, true, true, true}; }
};
/// Small sizes and costs, zeros among them. The same seed gives the same graph.
Graph random_graph(std::uint64_t seed, std::size_t ops, const Features& features);

/// Between what one op needs and what keep-all needs, both included.
Bytes random_budget(const Graph& graph, std::mt19937_64& random);

struct Case {
  Graph graph;
  Bytes budget;
};
/// A random graph of `fewest` to `fewest` + 5 ops, two out of three with all features, and a random budget.
Case random_case(std::uint64_t seed, std::size_t fewest);

/// Solves with that method. A method that goes by moves makes 3,000 of them.
SolveResult solved(const Graph& graph, std::string_view method, Bytes budget, Order order = Order::kFixed);

/// How many of so many random cases to try: all of them, but an eighth under the sanitizers, which make them
/// take that much longer. CI runs both.
std::uint64_t share_of(std::uint64_t cases);

/// A runnable sequence: first runs in order, recomputations strewn in.
std::vector<OpId> random_steps(const Graph& graph, std::mt19937_64& random, double recomputations = 0.5);

/// The whole number below `bound`; portable, unlike the standard's distributions.
std::uint64_t below(std::mt19937_64& random, std::uint64_t bound);

}  // namespace checkmate::testing
