#include <fmt/format.h>

#include <array>

#include "checkmate/io.h"
#include "core/text.h"
#include "core/try.h"
#include "io/formats.h"
#include "io/json_writer.h"
#include "io/sha256.h"

namespace checkmate {
namespace {

using Field = JsonReader::Field;

// `fixed_bytes` is what versions before 0.2 called reserved_bytes.
constexpr std::string_view kReservedKey = "reserved_bytes", kOldReservedKey = "fixed_bytes";
enum GraphField { kFormat, kVersion, kGraphName, kCostUnit, kReserved, kOldReserved, kTensors, kOps };
constexpr std::array<Field, 8> kGraphFields = {{{"format", true},
                                                {"version", true},
                                                {"name"},
                                                {"cost_unit"},
                                                {kReservedKey},
                                                {kOldReservedKey},
                                                {"tensors", true},
                                                {"ops", true}}};

enum TensorField { kTensorName, kBytes, kResident, kOutput };
constexpr std::array<Field, 4> kTensorFields = {{{"name"}, {"bytes", true}, {"resident"}, {"output"}}};

enum OpField { kOpName, kKind, kCost, kInputs, kOutputs, kWorkspace, kPhase, kRecomputable };
constexpr std::array<Field, 8> kOpFields = {{{"name"},
                                             {"kind"},
                                             {"cost", true},
                                             {"inputs", true},
                                             {"outputs", true},
                                             {"workspace"},
                                             {"phase"},
                                             {"recomputable"}}};

/// Reuses one spec for all ops: a million small vectors would cost more than the parsing.
class GraphReader {
 public:
  explicit GraphReader(JsonReader& json) : json_(json) {}

  Result<Graph> read(const std::string& source) {
    std::string name;
    std::string cost_unit = "ns";
    std::optional<Bytes> reserved;
    json_.object(kGraphFields, JsonReader::Others::kRefuse, [&](std::size_t field) {
      switch (field) {
        case kFormat:
          json_.string();
          break;  // recognised already
        case kVersion:
          check_version();
          break;
        case kGraphName:
          name = json_.string();
          break;
        case kCostUnit:
          cost_unit = json_.string();
          break;
        case kReserved:
        case kOldReserved:
          if (reserved) json_.fail("reserved_bytes and its old name fixed_bytes are both given; keep one");
          reserved = Bytes{json_.integer()};
          break;
        case kTensors:
          json_.array([&](std::size_t) { read_tensor(); });
          break;
        case kOps:
          json_.array([&](std::size_t) { read_op(); });
          break;
        default:
          break;
      }
    });
    CHECKMATE_TRY(json_.finish());
    builder_.set_name(std::move(name));
    builder_.set_reserved_bytes(reserved.value_or(Bytes{0}));
    Result<Graph> graph = build_with_costs(std::move(builder_), costs_, cost_unit);
    if (!graph) return graph.error().at(source);
    return graph;
  }

 private:
  void check_version() {
    const std::int64_t version = json_.integer();
    if (version != 1)
      json_.fail(fmt::format("version {} of the format is unknown; this program reads version 1", version));
  }

  void read_tensor() {
    TensorSpec& spec = tensor_;
    spec = {};
    json_.object(kTensorFields, JsonReader::Others::kRefuse, [&](std::size_t field) {
      switch (field) {
        case kTensorName:
          spec.name = json_.string();
          break;
        case kBytes:
          spec.bytes = Bytes{json_.integer()};
          break;
        case kResident:
          spec.resident = json_.boolean();
          break;
        case kOutput:
          spec.output = json_.boolean();
          break;
        default:
          break;
      }
    });
    builder_.add_tensor(spec);
  }

  void read_op() {
    OpSpec& spec = op_;
    spec.name.clear();
    spec.kind.clear();
    spec.inputs.clear();
    spec.outputs.clear();
    spec.workspace = {};
    spec.phase = Phase::kForward;
    spec.recomputable = true;
    json_.object(kOpFields, JsonReader::Others::kRefuse, [&](std::size_t field) {
      switch (field) {
        case kOpName:
          spec.name = json_.string();
          break;
        case kKind:
          spec.kind = json_.string();
          break;
        case kCost:
          costs_.push_back(json_.decimal_cost());
          break;
        case kInputs:
          json_.array([&](std::size_t) { spec.inputs.push_back({json_.index()}); });
          break;
        case kOutputs:
          json_.array([&](std::size_t) { spec.outputs.push_back({json_.index()}); });
          break;
        case kWorkspace:
          spec.workspace = Bytes{json_.integer()};
          break;
        case kPhase:
          spec.phase = read_phase();
          break;
        case kRecomputable:
          spec.recomputable = json_.boolean();
          break;
        default:
          break;
      }
    });
    builder_.add_op(spec);
  }

  Phase read_phase() {
    const std::string_view text = json_.string();
    const std::optional<Phase> phase = parse_phase(text);
    if (!phase)
      json_.fail(fmt::format("expected forward, loss, backward or update, got {}", in_quotes(text)));
    return phase.value_or(Phase::kForward);
  }

  JsonReader& json_;
  GraphBuilder builder_{""};
  TensorSpec tensor_;
  OpSpec op_;
  std::vector<DecimalCost> costs_;
};

void write_ids(JsonWriter& json, std::string_view name, std::span<const TensorId> tensors) {
  json.key(name).begin_array();
  for (const TensorId tensor : tensors) json.value(tensor.value);
  json.end_array();
}

void write_op(JsonWriter& json, const Graph& graph, OpId op) {
  json.line().begin_object().member("name", graph.name(op));
  if (!graph.kind(op).empty()) json.member("kind", graph.kind(op));
  json.member("cost", graph.cost(op).count());
  write_ids(json, "inputs", graph.inputs(op));
  write_ids(json, "outputs", graph.outputs(op));
  if (graph.workspace(op) > Bytes{0}) json.member("workspace", graph.workspace(op).count());
  if (graph.phase(op) != Phase::kForward) json.member("phase", to_string(graph.phase(op)));
  if (!graph.recomputable(op)) json.member("recomputable", false);
  json.end_object();
}

std::string to_json(const Graph& graph, std::string_view name, std::string_view reserved_key) {
  JsonWriter json;
  json.begin_object().member("format", "checkmate.graph").member("version", 1).line().member("name", name);
  json.member("cost_unit", graph.cost_unit()).member(reserved_key, graph.reserved_bytes().count());
  json.line().key("tensors").begin_array();
  for (const TensorId tensor : graph.tensors()) {
    json.line()
        .begin_object()
        .member("name", graph.name(tensor))
        .member("bytes", graph.bytes(tensor).count());
    if (graph.resident(tensor)) json.member("resident", true);
    if (graph.output(tensor)) json.member("output", true);
    json.end_object();
  }
  json.line().end_array().line().key("ops").begin_array();
  for (const OpId op : graph.ops()) write_op(json, graph, op);
  json.line().end_array().line().end_object();
  return json.take() + "\n";
}

}  // namespace

Result<Graph> read_checkmate_graph(JsonReader& json, const std::string& source) {
  return GraphReader(json).read(source);
}

std::string graph_to_json(const Graph& graph) { return to_json(graph, graph.name(), kReservedKey); }

// With the old key: fingerprints in plan files outlive names.
std::string graph_sha256(const Graph& graph) { return sha256(to_json(graph, "", kOldReservedKey)); }

}  // namespace checkmate
