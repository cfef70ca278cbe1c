#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <utility>
#include <variant>

#include "checkmate/io.h"
#include "core/text.h"
#include "core/try.h"
#include "io/formats.h"
#include "io/json_writer.h"

// Node-link JSON as networkx writes it, in two flavours. They differ in names and in how links refer to
// nodes:
//
//     training graphs   nodes {id, name, cost_cpu, cost_ram, backward}, links {source, target} by id
//     random layered    nodes {name, duration, out_cost}, links {"0", "1"} by place in the list
//
// Since version 3.6, networkx calls the links `edges`. Ids are numbers or text, costs may have fractions.
// Each node becomes an op with one output tensor. The order is `graph.order` where given, else the first
// topological one.

namespace checkmate {
namespace {

using Field = JsonReader::Field;

enum DocumentField { kGraph, kNodes, kLinks, kEdges };
constexpr std::array<Field, 4> kDocumentFields = {{{"graph"}, {"nodes", true}, {"links"}, {"edges"}}};
enum GraphField { kGraphName, kCostUnit, kOrder, kReserved, kOldReserved };
constexpr std::array<Field, 5> kGraphFields = {
    {{"name"}, {"cost_unit"}, {"order"}, {"reserved_bytes"}, {"fixed_bytes"}}};
enum NodeField { kId, kName, kBackward, kCostCpu, kDuration, kCostRam, kOutCost };
constexpr std::array<Field, 7> kNodeFields = {
    {{"id"}, {"name"}, {"backward"}, {"cost_cpu"}, {"duration"}, {"cost_ram"}, {"out_cost"}}};
enum LinkField { kSource, kZero, kTarget, kOne };
constexpr std::array<Field, 4> kLinkFields = {{{"source"}, {"0"}, {"target"}, {"1"}}};

/// A number or text of the file, which the reader keeps.
using NodeId = std::variant<std::int64_t, std::string_view>;

std::string to_string(const NodeId& id) {
  const auto* const number = std::get_if<std::int64_t>(&id);
  return number != nullptr ? std::to_string(*number) : in_quotes(std::get<std::string_view>(id));
}

struct Node {
  std::optional<NodeId> id;
  std::string name;
  bool backward = false;
  std::optional<DecimalCost> cost;
  std::optional<Bytes> bytes;
};

struct Link {
  std::optional<NodeId> from;
  std::optional<NodeId> to;
};

class NodeLinkReader {
 public:
  explicit NodeLinkReader(JsonReader& json) : json_(json) {}

  Result<Graph> read(const std::string& source) {
    json_.object(kDocumentFields, JsonReader::Others::kSkip, [&](std::size_t field) {
      if (field == kGraph) read_attributes();
      if (field == kNodes) json_.array([&](std::size_t place) { read_node(place); });
      if (field == kLinks || field == kEdges) {
        if (!links_name_.empty()) json_.fail("the graph has both links and edges; keep one");
        links_name_ = kDocumentFields.at(field).name;
        json_.array([&](std::size_t) { read_link(); });
      }
    });
    if (links_name_.empty()) json_.fail("the member 'links' (or 'edges') is missing");
    CHECKMATE_TRY(json_.finish());
    Result<Graph> graph = build();
    if (!graph) return graph.error().at(source);
    return graph;
  }

 private:
  static Error wrong(std::string message) { return {ErrorCode::kInvalidGraph, std::move(message)}; }

  void read_attributes() {
    json_.object(kGraphFields, JsonReader::Others::kSkip, [&](std::size_t field) {
      if (field == kGraphName) name_ = read_label();
      if (field == kCostUnit) cost_unit_ = read_label();
      if (field == kReserved || field == kOldReserved) reserved_ = Bytes{json_.integer()};
      if (field == kOrder) {
        order_.emplace();
        json_.array([&](std::size_t) { order_->push_back(read_id()); });
      }
    });
  }

  std::string read_label() {
    return json_.type() == JsonReader::Type::kNumber ? std::to_string(json_.whole_number(INT64_MIN))
                                                     : std::string(json_.string());
  }

  NodeId read_id() {
    if (json_.type() == JsonReader::Type::kString) return json_.string();
    return json_.integer();
  }

  void read_node(std::size_t place) {
    Node node;
    json_.object(kNodeFields, JsonReader::Others::kSkip, [&](std::size_t field) {
      switch (field) {
        case kId:
          node.id = read_id();
          break;
        case kName:
          node.name = read_label();
          break;
        case kBackward:
          node.backward = json_.boolean();
          break;
        case kCostCpu:
        case kDuration:
          if (node.cost) json_.fail("the node has two costs: cost_cpu and duration");
          node.cost = json_.decimal_cost();
          break;
        case kCostRam:
        case kOutCost:
          if (node.bytes) json_.fail("the node has two sizes: cost_ram and out_cost");
          node.bytes = Bytes{json_.whole_number()};
          break;
        default:
          break;
      }
    });
    if (!node.cost) json_.fail("the node has no cost: neither cost_cpu nor duration");
    if (!node.bytes) json_.fail("the node has no size: neither cost_ram nor out_cost");
    const NodeId id = node.id.value_or(static_cast<std::int64_t>(place));
    if (const auto* const text = std::get_if<std::string_view>(&id); text != nullptr && node.name.empty())
      node.name = *text;
    places_.emplace_back(id, place);
    nodes_.push_back(std::move(node));
  }

  void read_link() {
    Link link;
    json_.object(kLinkFields, JsonReader::Others::kSkip, [&](std::size_t field) {
      (field == kSource || field == kZero ? link.from : link.to) = read_id();
    });
    if (!link.from || !link.to) json_.fail("a link needs source and target, or \"0\" and \"1\"");
    links_.push_back(link);
  }

  /// Sorted and searched: a file chooses its ids, and could choose ones that a hash table dislikes.
  std::optional<std::size_t> place_of(const NodeId& id) const {
    const auto found = std::lower_bound(places_.begin(), places_.end(), std::pair(id, std::size_t{0}));
    return found != places_.end() && found->first == id ? std::optional(found->second) : std::nullopt;
  }

  Result<Graph> build() {
    std::sort(places_.begin(), places_.end());
    const auto twice = std::adjacent_find(places_.begin(), places_.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != places_.end())
      return wrong(fmt::format("two nodes have the id {}", to_string(twice->first)));
    std::vector<std::vector<std::size_t>> inputs(nodes_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const std::optional<std::size_t> from = place_of(*links_[i].from);
      const std::optional<std::size_t> to = place_of(*links_[i].to);
      if (!from || !to) {
        return wrong(fmt::format("$.{}[{}] names the unknown node {}", links_name_, i,
                                 to_string(from ? *links_[i].to : *links_[i].from)));
      }
      inputs[*to].push_back(*from);
    }
    CHECKMATE_TRY(std::vector<std::size_t> order, order_ ? given_order() : first_topological_order(inputs));

    std::vector<TensorId> tensor_of(nodes_.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      tensor_of[order[k]] = TensorId{static_cast<std::uint32_t>(k)};
    GraphBuilder builder(name_);
    std::vector<DecimalCost> costs;
    builder.set_reserved_bytes(reserved_);
    for (const std::size_t place : order) {
      const Node& node = nodes_[place];
      OpSpec spec{.name = node.name, .cost = {}, .inputs = {}, .outputs = {}};
      costs.push_back(*node.cost);
      spec.phase = node.backward ? Phase::kBackward : Phase::kForward;
      for (const std::size_t input : inputs[place]) spec.inputs.push_back(tensor_of[input]);
      builder.add_op_with_output(std::move(spec), *node.bytes);
    }
    return build_with_costs(std::move(builder), costs, cost_unit_);
  }

  Result<std::vector<std::size_t>> given_order() const {
    if (order_->size() != nodes_.size()) {
      return wrong(
          fmt::format("$.graph.order lists {} of {}", order_->size(), counted(nodes_.size(), "node")));
    }
    std::vector<std::size_t> order;
    std::vector<bool> listed(nodes_.size());
    for (const NodeId& id : *order_) {
      const std::optional<std::size_t> place = place_of(id);
      if (!place) return wrong(fmt::format("$.graph.order names the unknown node {}", to_string(id)));
      if (listed[*place]) return wrong(fmt::format("$.graph.order names node {} twice", to_string(id)));
      listed[*place] = true;
      order.push_back(*place);
    }
    return order;
  }

  /// Always the earliest node of the list whose inputs are done. Nodes on a cycle come last, as they are
  /// listed, for the builder to complain about.
  Result<std::vector<std::size_t>> first_topological_order(
      const std::vector<std::vector<std::size_t>>& inputs) const {
    std::vector<std::vector<std::size_t>> users(nodes_.size());
    std::vector<std::size_t> waiting(nodes_.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      for (const std::size_t input : inputs[place]) users[input].push_back(place);
      waiting[place] = inputs[place].size();
      if (waiting[place] == 0) ready.push(place);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t place = ready.top();
      ready.pop();
      order.push_back(place);
      for (const std::size_t user : users[place]) {
        if (--waiting[user] == 0) ready.push(user);
      }
    }
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      if (waiting[place] > 0) order.push_back(place);
    }
    return order;
  }

  JsonReader& json_;
  std::string name_;
  std::string cost_unit_ = "unit";
  std::string_view links_name_;  // `links` or `edges`, as the file has it
  std::optional<std::vector<NodeId>> order_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::pair<NodeId, std::size_t>> places_;  // by id
  Bytes reserved_;
};

}  // namespace

Result<Graph> read_node_link_graph(JsonReader& json, const std::string& source) {
  return NodeLinkReader(json).read(source);
}

Result<std::string> graph_to_node_link(const Graph& graph) {
  const auto cannot = [](std::string_view what) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a node-link graph cannot hold {}; write json instead", what)};
  };
  for (const TensorId tensor : graph.tensors()) {
    if (graph.resident(tensor) || graph.output(tensor)) return cannot("resident or output tensors");
  }
  JsonWriter json;
  json.begin_object().member("directed", true).member("multigraph", false).key("graph").begin_object();
  json.member("name", graph.name()).member("cost_unit", graph.cost_unit());
  json.member("reserved_bytes", graph.reserved_bytes().count()).end_object();
  json.line().key("nodes").begin_array();
  for (const OpId op : graph.ops()) {
    if (graph.outputs(op).size() != 1) return cannot("ops with several outputs");
    if (graph.workspace(op) > Bytes{0} || !graph.recomputable(op))
      return cannot("workspace or ops that run once");
    json.line().begin_object().member("id", op.value).member("name", graph.name(op));
    json.member("cost_cpu", graph.cost(op).count())
        .member("cost_ram", graph.bytes(graph.outputs(op)[0]).count());
    json.member("backward", graph.phase(op) != Phase::kForward).end_object();
  }
  json.line().end_array().line().key("links").begin_array();
  for (const OpId op : graph.ops()) {
    for (const TensorId input : graph.inputs(op)) {
      json.line()
          .begin_object()
          .member("source", graph.producer(input)->value)
          .member("target", op.value)
          .end_object();
    }
  }
  json.line().end_array().line().end_object();
  return json.take() + "\n";
}

}  // namespace checkmate
