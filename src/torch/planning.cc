#include "torch/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "checkmate/budget.h"
#include "checkmate/file.h"
#include "checkmate/simulate.h"
#include "checkmate/validate.h"
#include "core/try.h"
#include "io/json_reader.h"
#include "torch/cache.h"
#include "torch/signature.h"

namespace checkmate::torch {
namespace {

constexpr int kMostLayouts = 6;  // of plans for smaller and smaller budgets
constexpr double kLastLayoutSeconds = 10.0;

/// The record of given steps, replayed.
Result<PlanRecord> record_of_steps(const Graph& graph, std::vector<OpId> steps, std::optional<Bytes> budget,
                                   const Options& options, std::string method) {
  CHECKMATE_TRY(Plan plan, plan_from_steps(graph, std::move(steps)));
  CHECKMATE_TRY(const Simulation simulation, simulate(graph, plan));
  if (budget && simulation.peak > *budget) {
    return Error{ErrorCode::kInvalidPlan, fmt::format("its peak of {} exceeds the budget of {}",
                                                      to_string(simulation.peak), to_string(*budget))};
  }
  const Bytes allowed = budget.value_or(simulation.peak);
  if (const auto violations = validate(graph, plan, allowed, options.order); !violations.empty()) {
    return Error{ErrorCode::kInvalidPlan, describe(graph, violations.front())};
  }
  return PlanRecord{.plan = std::move(plan),
                    .graph_name = std::string(graph.name()),
                    .graph_sha256 = graph_sha256(graph),
                    .budget = budget.value_or(simulation.peak),
                    .order = options.order,
                    .cost = simulation.cost,
                    .peak = simulation.peak,
                    .lower_bound = graph.keep_all_cost(),
                    .method = std::move(method),
                    .seed = options.seed};
}

/// The steps of a plan file, whatever graph it was made for: costs may have been measured anew since.
Result<std::vector<OpId>> steps_of_file(const std::filesystem::path& path) {
  CHECKMATE_TRY(std::string text, read_file(path));
  JsonReader json(std::move(text), path.string());
  static constexpr JsonReader::Field kFields[] = {{"steps", true}};
  std::vector<OpId> steps;
  json.object(kFields, JsonReader::Others::kSkip,
              [&](std::size_t) { json.array([&](std::size_t) { steps.push_back({json.index()}); }); });
  CHECKMATE_TRY(json.finish());
  return steps;
}

Result<PlanRecord> given_plan(const Graph& graph, std::optional<Bytes> budget, const Options& options) {
  CHECKMATE_TRY(std::vector<OpId> steps, steps_of_file(options.plan));
  Result<PlanRecord> record = record_of_steps(graph, std::move(steps), budget, options, "given");
  if (!record) {
    return Error{ErrorCode::kInvalidPlan,
                 "the plan that was given does not fit this step: " + record.error().message};
  }
  return record;
}

/// What no plan can drop.
std::string standing(const Graph& graph) {
  Bytes results;
  for (const TensorId tensor : graph.tensors()) {
    results += graph.output(tensor) ? graph.bytes(tensor) : Bytes{0};
  }
  const Bytes resident = graph.fixed_bytes() - graph.reserved_bytes();
  const std::string reserve = graph.reserved_bytes() > Bytes{0}
                                  ? fmt::format("{} are the reserve, ", to_string(graph.reserved_bytes()))
                                  : "";
  return fmt::format("{}{} are parameters, buffers and the batch, and {} are gradients and other results",
                     reserve, to_string(resident), to_string(results));
}

Error no_plan(const Graph& graph, Bytes budget, const SolveResult& result) {
  std::string message =
      result.detail.empty() ? fmt::format("no plan within {} was found", to_string(budget)) : result.detail;
  if (result.sufficient) {
    message +=
        fmt::format("; {} bytes ({}) suffice", result.sufficient->count(), to_string(*result.sufficient));
  }
  return {ErrorCode::kInvalidArgument, fmt::format("{}; of this, {}", message, standing(graph))};
}

std::string cache_key(const Graph& graph, Bytes budget, const Options& options) {
  return fmt::format("{} {} {} {} {}", graph_sha256(graph), budget.count(), to_string(options.order),
                     number_text(options.time_limit), number_text(options.gap));
}

/// A plan whose arena fits the budget, not only its peak: what the layout of one leaves over, the next must
/// save.
class Fitting {
 public:
  Fitting(const Program& program, const std::vector<UnitCost>& costs, const Graph& graph, Bytes budget,
          const Options& options)
      : program_(program),
        graph_(graph),
        budget_(budget),
        options_(options),
        cache_(options.cache),
        key_(cache_key(graph, budget, options)),
        room_((budget - graph.fixed_bytes()).count()) {
    for (const UnitCost& cost : costs) {
      allocations_.push_back(*cost.allocations);
    }
  }

  Result<PlannedStep> fit(PlanRecord wanted) {
    CHECKMATE_TRY(best_layout_, layout_of(wanted.plan, {.room = room_}));
    best_ = wanted;
    if (best_layout_.total() > room_ && options_.plan.empty()) {
      CHECKMATE_TRY(look_below());
    }
    if (best_layout_.total() > room_) {
      CHECKMATE_TRY(StepLayout longer, layout_of(best_.plan, {.room = room_, .seconds = kLastLayoutSeconds}));
      if (longer.total() < best_layout_.total()) {
        best_layout_ = std::move(longer);
      }
    }
    if (best_layout_.total() > room_ && options_.plan.empty()) {
      const Bytes least = graph_.fixed_bytes() + Bytes{best_layout_.total()};
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format(
              "no layout within {} was found: the values of a plan fit, but not side by side; {} bytes ({}) "
              "suffice",
              to_string(budget_), least.count(), to_string(least))};
    }
    // The bound is that of the whole budget.
    best_.budget = budget_;
    best_.lower_bound = wanted.lower_bound;
    return PlannedStep{graph_, std::move(best_), std::move(best_layout_)};
  }

 private:
  Result<StepLayout> layout_of(const Plan& plan, const LayoutLimits& limits) const {
    return planned_layout(program_, allocations_, plan, limits);
  }

  Result<void> look_below() {
    const std::optional<Bytes> remembered = read_remembered();
    Bytes budget = budget_;
    std::int64_t total = best_layout_.total();
    std::vector<OpId> start = best_.plan.steps;
    for (int attempt = 0; attempt < kMostLayouts; ++attempt) {
      budget -= Bytes{std::max(total - room_, room_ / 2000)};
      if (attempt == 0 && remembered && graph_.fixed_bytes() < *remembered && *remembered < budget) {
        budget = *remembered;
      }
      if (budget <= graph_.fixed_bytes()) {
        break;
      }
      Result<PlanRecord> record = solved(graph_, budget, options_, start);
      if (!record) {
        if (budget != remembered) {
          break;
        }
        budget = budget_;  // no longer true
        continue;
      }
      CHECKMATE_TRY(StepLayout layout, layout_of(record->plan, {.room = room_}));
      total = layout.total();
      start = record->plan.steps;
      if (total < best_layout_.total()) {
        best_layout_ = std::move(layout);
        best_ = *std::move(record);
      }
      if (total <= room_) {
        cache_.write("fits", key_, std::to_string(budget.count()));
        break;
      }
    }
    return {};
  }

  /// The budget whose plan had a layout within this one.
  std::optional<Bytes> read_remembered() const {
    const std::optional<std::string> text = cache_.read("fits", key_);
    std::int64_t budget = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), budget).ec != std::errc()) {
      return std::nullopt;
    }
    return Bytes{budget};
  }

  const Program& program_;
  const Graph& graph_;
  Bytes budget_;
  const Options& options_;
  Cache cache_;
  std::string key_;
  std::int64_t room_;
  std::vector<UnitAllocations> allocations_;
  PlanRecord best_;
  StepLayout best_layout_;
};

}  // namespace

Result<PlanRecord> solved(const Graph& graph, std::optional<Bytes> budget, const Options& options,
                          const std::vector<OpId>& start) {
  if (!options.plan.empty()) {
    return given_plan(graph, budget, options);
  }
  if (!budget) {
    return record_of_steps(graph, keep_all_plan(graph).steps, std::nullopt, options, "keep-all");
  }
  const Cache cache(options.cache);
  const std::string key = cache_key(graph, *budget, options);
  if (std::optional<std::string> text = cache.read("plans", key)) {
    if (Result<PlanRecord> known = parse_plan(*std::move(text), graph); known && known->cost && known->peak) {
      Result<PlanRecord> replayed = record_of_steps(graph, known->plan.steps, budget, options, known->method);
      if (replayed) {
        replayed->lower_bound = known->lower_bound.value_or(graph.keep_all_cost());
        return replayed;
      }
    }
  }
  SolveOptions wanted{.budget = *budget,
                      .order = options.order,
                      .time_limit = std::chrono::duration<double>(options.time_limit),
                      .threads = options.threads,
                      .seed = options.seed,
                      .gap = options.gap,
                      .on_progress = options.on_progress};
  if (start.size() >= graph.op_count()) {
    wanted.start = start;
  }
  CHECKMATE_TRY(const SolveResult result, solve(graph, wanted));
  std::optional<PlanRecord> record = checkmate::record_of(graph, wanted, result);
  if (!record) {
    return no_plan(graph, *budget, result);
  }
  cache.write("plans", key, plan_to_json(*record));
  return *std::move(record);
}

Result<PlannedStep> planned(const Program& program, const std::vector<UnitCost>& costs, Graph graph,
                            std::optional<Bytes> budget, const Options& options,
                            const std::vector<OpId>& start) {
  CHECKMATE_TRY(PlanRecord record, solved(graph, budget, options, start));
  if (!costs.empty() && !costs[0].allocations) {
    return PlannedStep{std::move(graph), std::move(record)};
  }
  if (budget) {
    return Fitting(program, costs, graph, *budget, options).fit(std::move(record));
  }
  std::vector<UnitAllocations> allocations;
  allocations.reserve(costs.size());
  for (const UnitCost& cost : costs) {
    allocations.push_back(*cost.allocations);
  }
  CHECKMATE_TRY(StepLayout layout, planned_layout(program, allocations, record.plan, {}));
  return PlannedStep{std::move(graph), std::move(record), std::move(layout)};
}

}  // namespace checkmate::torch
