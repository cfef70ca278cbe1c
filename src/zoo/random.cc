#include "core/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "zoo/recipe.h"

namespace checkmate::zoo {
namespace {

constexpr std::int64_t kMostOps = 2'000'000;
constexpr double kMostEdges = 50e6;
constexpr std::int64_t kMostSeed = INT64_MAX;

using Node = std::uint32_t;
struct Edge {
  Node from, to;
};

Random seeded(Arguments& arguments) {
  return Random(static_cast<std::uint64_t>(arguments.number("seed", 0, kMostSeed)));
}

struct LayeredOptions {
  std::int64_t ops;
  double width, variation, density, skips;
};

/// Nodes are numbered layer by layer. The first and the last layer hold one node, the source and the sink.
class Layers {
 public:
  Layers(Random& random, const LayeredOptions& options) {
    const double mean = 2 * options.width * std::sqrt(static_cast<double>(options.ops));
    const std::int64_t least = std::max<std::int64_t>(1, std::llround(mean * (1 - options.variation)));
    const std::int64_t most = std::max<std::int64_t>(least, std::llround(mean * (1 + options.variation)));
    for (std::int64_t left = options.ops - 2; left > 0;) {
      const std::int64_t size = std::min(left, random.between(least, most));
      begins_.push_back(begins_.back() + static_cast<Node>(size));
      left -= size;
    }
    begins_.push_back(begins_.back() + 1);
  }

  std::size_t count() const { return begins_.size() - 1; }
  std::size_t size(std::size_t layer) const { return begins_[layer + 1] - begins_[layer]; }
  Node node(std::size_t layer, std::size_t place) const { return begins_[layer] + static_cast<Node>(place); }
  std::size_t layer_of(Node node) const {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), node);
    return static_cast<std::size_t>(next - begins_.begin()) - 1;
  }

 private:
  std::vector<Node> begins_ = {0, 1};
};

/// Two neighbouring layers. Each node of the larger one has a partner in the smaller one and each node there
/// is a partner, so that no op is left alone; a share of the other pairs is connected as well.
class Seam {
 public:
  Seam(const Layers& layers, std::size_t upper, double density)
      : layers_(layers),
        upper_(upper),
        larger_(layers.size(upper) >= layers.size(upper + 1) ? upper : upper + 1),
        large_(layers.size(larger_)),
        small_(std::min(layers.size(upper), layers.size(upper + 1))),
        other_pairs_(large_ * (small_ - 1)),
        extra_(static_cast<std::size_t>(std::llround(density * static_cast<double>(other_pairs_)))) {}

  std::size_t edge_count() const { return large_ + extra_; }

  void join(Random& random, std::vector<Edge>& edges) const {
    std::vector<std::size_t> partner(large_);
    for (std::size_t i = 0; i < large_; ++i) {
      partner[i] = i < small_ ? i : random.below(small_);
      std::swap(partner[i], partner[random.below(i + 1)]);
    }
    for (std::size_t i = 0; i < large_; ++i) edges.push_back(edge(i, partner[i]));

    // Floyd's sampling of distinct numbers, each of which stands for a node and one that is not its partner.
    std::vector<bool> taken(other_pairs_);
    for (std::size_t last = other_pairs_ - extra_; last < other_pairs_; ++last) {
      std::size_t pair = random.below(last + 1);
      if (taken[pair]) pair = last;
      taken[pair] = true;
      const std::size_t i = pair / (small_ - 1);
      const std::size_t j = pair % (small_ - 1);
      edges.push_back(edge(i, j < partner[i] ? j : j + 1));
    }
  }

 private:
  Edge edge(std::size_t in_large, std::size_t in_small) const {
    return larger_ == upper_ ? Edge{layers_.node(upper_, in_large), layers_.node(upper_ + 1, in_small)}
                             : Edge{layers_.node(upper_, in_small), layers_.node(upper_ + 1, in_large)};
  }

  const Layers& layers_;
  std::size_t upper_, larger_, large_, small_, other_pairs_, extra_;
};

/// Edges over one layer or more, from any inner node to any layer further down and any node there. One drawn
/// twice is dropped when the graph is built.
void add_skips(Random& random, const Layers& layers, double share, std::vector<Edge>& edges) {
  if (layers.count() < 5) return;
  const std::size_t last_inner = layers.count() - 2;
  const Node sources = layers.node(last_inner - 1, 0) - 1;
  const auto count = std::llround(static_cast<double>(edges.size()) * share / (1 - share));
  for (std::int64_t i = 0; i < count; ++i) {
    const Node from = 1 + static_cast<Node>(random.below(sources));
    const std::size_t nearest = layers.layer_of(from) + 2;
    const std::size_t layer = nearest + random.below(last_inner - nearest + 1);
    edges.push_back({from, layers.node(layer, random.below(layers.size(layer)))});
  }
}

/// In tens, from one of four bell curves, redrawn until positive. Twelve uniform numbers below 1000 add up to
/// 5994 with a standard deviation of 1000, near enough to normal.
Bytes draw_bytes(Random& random) {
  struct Bell {
    std::int64_t mean, deviation;
  };
  constexpr Bell kSmall{500, 500}, kCommon{1000, 1000}, kLarge{3000, 1000}, kHuge{5000, 1000};
  constexpr std::array kBells = {kSmall,  kSmall, kSmall, kCommon, kCommon,
                                 kCommon, kLarge, kLarge, kLarge,  kHuge};
  const Bell& bell = kBells.at(random.below(kBells.size()));
  while (true) {
    std::int64_t sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.between(0, 999);
    const std::int64_t tens = (bell.mean + bell.deviation * (sum - 5994) / 1000) / 10;
    if (tens > 0) return Bytes{10 * tens};
  }
}

/// The same graph twice over: who reads a node, and room for what each node reads.
struct Adjacency {
  Adjacency(std::size_t nodes, const std::vector<Edge>& edges)
      : reader_begins(nodes + 1), input_begins(nodes + 1) {
    for (const Edge& edge : edges) {
      ++reader_begins[edge.from + 1];
      ++input_begins[edge.to + 1];
    }
    for (std::size_t i = 1; i <= nodes; ++i) {
      reader_begins[i] += reader_begins[i - 1];
      input_begins[i] += input_begins[i - 1];
    }
    readers.resize(edges.size());
    std::vector<std::uint32_t> next = reader_begins;
    for (const Edge& edge : edges) readers[next[edge.from]++] = edge.to;
  }

  std::vector<std::uint32_t> reader_begins, input_begins;
  std::vector<Node> readers;
};

/// A random topological order that likes to go on where it just was: of the nodes that are ready, the younger
/// one of two drawn runs next.
Result<Graph> emit(const std::string& name, Random& random, std::size_t nodes,
                   const std::vector<Edge>& edges) {
  const Adjacency graph(nodes, edges);
  std::vector<TensorId> inputs(edges.size());
  std::vector<std::uint32_t> filled = graph.input_begins;
  GraphBuilder builder(name, "unit");
  std::vector<Node> ready = {0};
  while (!ready.empty()) {
    const std::size_t place = std::max(random.below(ready.size()), random.below(ready.size()));
    const Node node = ready[place];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(place));

    const bool end = node == 0 || node + 1 == nodes;
    const Cost cost{end ? 0 : random.between(1, 999)};
    const Bytes bytes = draw_bytes(random);
    const auto begin = inputs.begin() + graph.input_begins[node];
    const auto stop = inputs.begin() + graph.input_begins[node + 1];
    const TensorId made = builder.add_op_with_output(
        {.name = fmt::format("op{}", node), .kind = {}, .cost = cost, .inputs = {begin, stop}, .outputs = {}},
        bytes);
    for (std::uint32_t i = graph.reader_begins[node]; i < graph.reader_begins[node + 1]; ++i) {
      const Node reader = graph.readers[i];
      inputs[filled[reader]++] = made;
      if (filled[reader] == graph.input_begins[reader + 1]) ready.push_back(reader);
    }
  }
  return std::move(builder).build();
}

Result<Graph> random_layered(const std::string& name, Arguments& arguments) {
  const LayeredOptions options{.ops = arguments.number("n", 3, kMostOps),
                               .width = arguments.real("width", 0, 1),
                               .variation = arguments.real("variation", 0, 1),
                               .density = arguments.real("density", 0, 1),
                               .skips = arguments.real("skips", 0, 0.9)};
  Random random = seeded(arguments);
  if (arguments.error()) return *arguments.error();

  const Layers layers(random, options);
  std::vector<Seam> seams;
  double edge_count = 0;
  for (std::size_t layer = 0; layer + 1 < layers.count(); ++layer) {
    seams.emplace_back(layers, layer, options.density);
    edge_count += static_cast<double>(seams.back().edge_count());
  }
  edge_count /= 1 - options.skips;
  if (edge_count > kMostEdges) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("{:.0f} edges are more than {:.0f}; choose a smaller n, width or density",
                             edge_count, kMostEdges)};
  }
  std::vector<Edge> edges;
  edges.reserve(static_cast<std::size_t>(edge_count) + 1);
  for (const Seam& seam : seams) seam.join(random, edges);
  add_skips(random, layers, options.skips, edges);
  return emit(name, random, static_cast<std::size_t>(options.ops), edges);
}

/// Ops one after the other, each reading what lies a little or, now and then, a long way back.
class DagWriter {
 public:
  DagWriter(const std::string& name, Random random, std::int64_t ops, bool full)
      : builder_(name, "unit"), random_(random), ops_(ops), full_(full) {
    if (!full) return;
    builder_.set_reserved_bytes(Bytes{random_.between(0, 100)});
    for (std::int64_t i = 0; i <= ops / 8; ++i) {
      const TensorSpec weight{.name = fmt::format("weight{}", i), .bytes = draw_amount(), .resident = true};
      weights_.push_back(builder_.add_tensor(weight));
    }
  }

  void add_op(std::int64_t number, std::int64_t degree, std::int64_t reach) {
    OpSpec op{.name = fmt::format("op{}", number), .kind = {}, .cost = {}, .inputs = {}, .outputs = {}};
    op.cost = Cost{sometimes() ? 0 : random_.between(1, 100)};
    const std::int64_t inputs = made_.empty() ? 0 : random_.between(0, 2 * degree);
    for (std::int64_t i = 0; i < inputs; ++i) {
      const bool far = random_.one_in(8);
      const std::size_t window = far ? made_.size() : std::min(made_.size(), static_cast<std::size_t>(reach));
      op.inputs.push_back(made_[made_.size() - 1 - random_.below(window)]);
    }
    if (full_) add_features(number, op);
    const std::int64_t outputs = full_ ? random_.between(1, 3) : 1;
    for (std::int64_t i = 0; i < outputs; ++i) {
      std::string name = i == 0 ? op.name : fmt::format("{}.{}", op.name, i);
      op.outputs.push_back(
          builder_.add_tensor({.name = std::move(name), .bytes = draw_amount(), .output = sometimes()}));
    }
    made_.insert(made_.end(), op.outputs.begin(), op.outputs.end());
    builder_.add_op(op);
  }

  Result<Graph> build() && { return std::move(builder_).build(); }

 private:
  /// One of eight, where all features are wanted.
  bool sometimes() { return full_ && random_.one_in(8); }
  Bytes draw_amount() { return Bytes{sometimes() ? 0 : random_.between(1, 100)}; }

  void add_features(std::int64_t number, OpSpec& op) {
    if (random_.one_in(4)) op.inputs.push_back(weights_[random_.below(weights_.size())]);
    if (random_.one_in(4)) op.workspace = Bytes{random_.between(1, 100)};
    op.recomputable = !sometimes();
    op.phase = number < ops_ / 2          ? Phase::kForward
               : number == ops_ / 2       ? Phase::kLoss
               : number < ops_ - ops_ / 8 ? Phase::kBackward
                                          : Phase::kUpdate;
  }

  GraphBuilder builder_;
  Random random_;
  std::int64_t ops_;
  bool full_;
  std::vector<TensorId> weights_;  // resident
  std::vector<TensorId> made_;
};

Result<Graph> random_dag(const std::string& name, Arguments& arguments) {
  const std::int64_t ops = arguments.number("n", 1, kMostOps);
  const std::int64_t degree = arguments.number("degree", 0, 8);
  const std::int64_t reach = arguments.number("reach", 1, kMostOps);
  const bool full = arguments.choice("features", {"plain", "full"}) == "full";
  const Random random = seeded(arguments);
  if (arguments.error()) return *arguments.error();

  DagWriter writer(name, random, ops, full);
  for (std::int64_t number = 0; number < ops; ++number) writer.add_op(number, degree, reach);
  return std::move(writer).build();
}

constexpr Parameter kSeed = {"seed", "0", "the same seed gives the same graph everywhere"};

constexpr std::array kLayeredParameters = {
    Parameter{"n", "100", "ops, source and sink included, 3 to 2000000"},
    kSeed,
    Parameter{"width", "0.31", "a layer has about 2 x width x sqrt(n) ops, 0 to 1"},
    Parameter{"variation", "0.75", "how much the layers' sizes vary, as a share, 0 to 1"},
    Parameter{"density", "0.2", "share of the pairs between neighbouring layers that are connected, 0 to 1"},
    Parameter{"skips", "0.14", "share of all edges that skip layers, 0 to 0.9"},
};

constexpr std::array kDagParameters = {
    Parameter{"n", "100", "ops, 1 to 2000000"},
    kSeed,
    Parameter{"degree", "2", "average number of inputs per op, 0 to 8"},
    Parameter{"reach", "16", "how far back most inputs are at most, in tensors"},
    Parameter{
        "features", "plain",
        "plain, or full: several outputs, workspace, resident and output tensors, ops that run once, zeros"},
};

constexpr std::array kRecipes = {
    Recipe{{"random_layered", "random layers, like the public benchmark graphs", kLayeredParameters},
           random_layered},
    Recipe{{"random_dag", "a random sparse graph", kDagParameters}, random_dag},
};

}  // namespace

std::span<const Recipe> random_graphs() { return kRecipes; }

}  // namespace checkmate::zoo
