#include <fmt/format.h>

#include <array>

#include "checkmate/file.h"
#include "checkmate/io.h"
#include "core/guarded.h"
#include "core/text.h"
#include "core/try.h"
#include "io/json_reader.h"
#include "io/json_writer.h"

namespace checkmate {
namespace {

enum PlanField {
  kFormat,
  kVersion,
  kGraphName,
  kGraphSha256,
  kBudgetBytes,
  kOrder,
  kCost,
  kPeakBytes,
  kLowerBound,
  kMethod,
  kSeed,
  kSteps,
  kFrees,
  kLayout
};
enum LayoutField { kSizeBytes, kAlignment, kOffsets };
constexpr std::array<JsonReader::Field, 3> kLayoutFields = {
    {{"size_bytes", true}, {"alignment", true}, {"offsets", true}}};
constexpr std::array<JsonReader::Field, 14> kPlanFields = {{{"format", true},
                                                            {"version", true},
                                                            {"graph_name"},
                                                            {"graph_sha256"},
                                                            {"budget_bytes"},
                                                            {"order"},
                                                            {"cost"},
                                                            {"peak_bytes"},
                                                            {"lower_bound"},
                                                            {"method"},
                                                            {"seed"},
                                                            {"steps", true},
                                                            {"frees"},
                                                            {"layout"}}};

class PlanReader {
 public:
  PlanReader(JsonReader& json, const Graph& graph) : json_(json), graph_(graph) {}

  Result<PlanRecord> read(const std::string& source) {
    json_.object(kPlanFields, JsonReader::Others::kRefuse, [&](std::size_t field) { read_field(field); });
    CHECKMATE_TRY(json_.finish());
    const std::string& claimed = record_.graph_sha256;
    if (!claimed.empty() && claimed != graph_sha256(graph_)) {
      return Error{ErrorCode::kInvalidPlan,
                   fmt::format("{}: the plan is for another graph, {}; to use it anyway, remove graph_sha256",
                               source, in_quotes(record_.graph_name))};
    }
    if (Result<void> known = check_ids(); !known) return known.error().at(source);
    if (!frees_given_) {
      Result<Frees> frees = tightest_frees(graph_, record_.plan.steps);
      if (!frees) return frees.error().at(source);
      record_.plan.frees = std::move(*frees);
    }
    if (record_.plan.frees.step_count() != record_.plan.steps.size()) {
      return Error{ErrorCode::kInvalidFile,
                   fmt::format("{}: $.frees has {} for {}; there must be one list per step", source,
                               counted(record_.plan.frees.step_count(), "list"),
                               counted(record_.plan.steps.size(), "step"))};
    }
    return std::move(record_);
  }

 private:
  void read_field(std::size_t field) {
    PlanRecord& r = record_;
    switch (field) {
      case kFormat:
        if (json_.string() != "checkmate.plan")
          json_.fail("expected \"checkmate.plan\"; this is another kind of file");
        break;
      case kVersion:
        if (json_.integer() != 1) json_.fail("this program reads version 1 of the format");
        break;
      case kGraphName:
        r.graph_name = json_.string();
        break;
      case kGraphSha256:
        r.graph_sha256 = json_.string();
        break;
      case kBudgetBytes:
        r.budget = Bytes{json_.integer()};
        break;
      case kOrder:
        r.order = read_order();
        break;
      case kCost:
        r.cost = Cost{json_.integer()};
        break;
      case kPeakBytes:
        r.peak = Bytes{json_.integer()};
        break;
      case kLowerBound:
        r.lower_bound = Cost{json_.integer()};
        break;
      case kMethod:
        r.method = json_.string();
        break;
      case kSeed:
        r.seed = static_cast<std::uint64_t>(json_.integer());
        break;
      case kSteps:
        json_.array([&](std::size_t) { r.plan.steps.push_back({json_.index()}); });
        break;
      case kFrees:
        read_frees();
        break;
      case kLayout:
        read_layout();
        break;
      default:
        break;
    }
  }

  Order read_order() {
    const std::optional<Order> order = parse_order(json_.string());
    if (!order) json_.fail("expected \"fixed\" or \"free\"");
    return order.value_or(Order::kFixed);
  }

  void read_frees() {
    frees_given_ = true;
    std::vector<TensorId> freed;
    json_.array([&](std::size_t) {
      freed.clear();
      json_.array([&](std::size_t) { freed.push_back({json_.index()}); });
      record_.plan.frees.push_step(freed);
    });
  }

  void read_layout() {
    Layout& layout = record_.layout.emplace();
    json_.object(kLayoutFields, JsonReader::Others::kRefuse, [&](std::size_t field) {
      if (field == kSizeBytes) layout.size = Bytes{json_.integer()};
      if (field == kAlignment) layout.alignment = Bytes{json_.integer(1)};
      if (field == kOffsets) json_.array([&](std::size_t) { layout.offsets.emplace_back(json_.integer()); });
    });
  }

  Result<void> check_ids() const {
    const Plan& plan = record_.plan;
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      if (plan.steps[step].index() < graph_.op_count()) continue;
      return Error{ErrorCode::kInvalidPlan, fmt::format("$.steps[{}] is op {}, but the graph has ops 0 to {}",
                                                        step, plan.steps[step].value, graph_.op_count() - 1)};
    }
    for (std::size_t step = 0; step < plan.frees.step_count(); ++step) {
      for (const TensorId tensor : plan.frees.after(step)) {
        if (tensor.index() < graph_.tensor_count()) continue;
        return Error{ErrorCode::kInvalidPlan,
                     fmt::format("$.frees[{}] has tensor {}, but the graph has {}", step, tensor.value,
                                 counted(graph_.tensor_count(), "tensor"))};
      }
    }
    return {};
  }

  JsonReader& json_;
  const Graph& graph_;
  PlanRecord record_;
  bool frees_given_ = false;
};

}  // namespace

Result<PlanRecord> parse_plan(std::string text, const Graph& graph, const std::string& source) {
  JsonReader json(std::move(text), source);
  return guarded([&] { return PlanReader(json, graph).read(source); });
}

Result<PlanRecord> read_plan(const std::filesystem::path& path, const Graph& graph) {
  CHECKMATE_TRY(std::string text, read_file(path));
  return parse_plan(std::move(text), graph, printable(path.string(), 4096));
}

std::optional<PlanRecord> record_of(const Graph& graph, const SolveOptions& options,
                                    const SolveResult& result) {
  if (!result.plan) return std::nullopt;
  return PlanRecord{.plan = *result.plan,
                    .graph_name = std::string(graph.name()),
                    .graph_sha256 = graph_sha256(graph),
                    .budget = options.budget,
                    .order = options.order,
                    .cost = result.cost,
                    .peak = result.peak,
                    .lower_bound = result.lower_bound,
                    .method = result.method,
                    .seed = options.seed};
}

std::string plan_to_json(const PlanRecord& record) {
  JsonWriter json;
  json.begin_object().member("format", "checkmate.plan").member("version", 1).line();
  if (!record.graph_name.empty()) json.member("graph_name", record.graph_name);
  if (!record.graph_sha256.empty()) json.member("graph_sha256", record.graph_sha256);
  json.line();
  if (record.budget) json.member("budget_bytes", record.budget->count());
  json.member("order", to_string(record.order));
  if (record.cost) json.member("cost", record.cost->count());
  if (record.peak) json.member("peak_bytes", record.peak->count());
  if (record.lower_bound) json.member("lower_bound", record.lower_bound->count());
  if (!record.method.empty()) json.member("method", record.method);
  json.member("seed", record.seed).line().key("steps").begin_array();
  for (const OpId op : record.plan.steps) json.value(op.value);
  json.end_array().line().key("frees").begin_array();
  for (std::size_t step = 0; step < record.plan.frees.step_count(); ++step) {
    json.begin_array();
    for (const TensorId tensor : record.plan.frees.after(step)) json.value(tensor.value);
    json.end_array();
  }
  json.end_array().line();
  if (record.layout) {
    json.key("layout").begin_object().member("size_bytes", record.layout->size.count());
    json.member("alignment", record.layout->alignment.count()).key("offsets").begin_array();
    for (const Bytes offset : record.layout->offsets) json.value(offset.count());
    json.end_array().end_object().line();
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace checkmate
