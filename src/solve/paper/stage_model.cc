#include "solve/paper/stage_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "checkmate/plan.h"
#include "checkmate/simulate.h"
#include "core/text.h"

namespace checkmate {
namespace {

/// Budgets become this: large against HiGHS's absolute tolerance of 1e-6, small against its idea of a large
/// number.
constexpr double kScale = 1000;

std::int64_t common_unit(const Graph& graph) {
  std::int64_t unit = 0;
  for (const TensorId tensor : graph.tensors()) {
    if (!graph.resident(tensor)) unit = std::gcd(unit, graph.bytes(tensor).count());
  }
  for (const OpId op : graph.ops()) unit = std::gcd(unit, graph.workspace(op).count());
  return std::max<std::int64_t>(unit, 1);
}

Bytes output_bytes(const Graph& graph, OpId op) {
  Bytes bytes;
  for (const TensorId tensor : graph.outputs(op)) bytes += graph.bytes(tensor);
  return bytes;
}

}  // namespace

StageModel::StageModel(const Graph& graph, const Options& options)
    : graph_(graph),
      partition_(options.partition),
      tight_(options.tight),
      ops_(static_cast<std::uint32_t>(graph.op_count())) {
  // Stages of as equal a length as can be.
  stages_ = std::clamp<std::uint32_t>(options.stages, 1, ops_);
  stage_of_.resize(ops_);
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    ends_.push_back(static_cast<std::uint32_t>((stage + std::uint64_t{1}) * ops_ / stages_) - 1);
    for (std::uint32_t op = stage == 0 ? 0 : ends_[stage - 1] + 1; op <= ends_[stage]; ++op)
      stage_of_[op] = stage;
  }
  unit_ = common_unit(graph);
  const std::int64_t units =
      std::max<std::int64_t>((options.budget - graph.fixed_bytes()).count() / unit_, 1);
  byte_scale_ = kScale / (static_cast<double>(units) * static_cast<double>(unit_));
  cost_scale_ = std::max(static_cast<double>(graph.keep_all_cost().count()) / ops_, 1.0);
  budget_ = scaled_budget(options.budget);
  for (std::uint32_t op = 0; op < ops_; ++op) releases_.push_back(releases_after(op));
  add_columns(options.named);
  add_dependencies();
  add_frontier();
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    add_frees(stage);
    add_memory(stage);
  }
}

double StageModel::scaled_budget(Bytes budget) const {
  // Sizes are whole units, so what is left of the last unit is of no use, and rounding it away leaves room
  // for tolerances.
  const std::int64_t whole =
      std::max<std::int64_t>((budget - graph_.fixed_bytes()).count(), 0) / unit_ * unit_;
  return scaled(Bytes{whole});
}

std::size_t StageModel::column_estimate(const Graph& graph, Partition partition, std::size_t stages) {
  std::size_t touches = 0;
  for (const OpId op : graph.ops()) touches += graph.inputs(op).size() + graph.outputs(op).size();
  const std::size_t all =
      std::min(stages, graph.op_count()) * (2 * graph.op_count() + graph.tensor_count() + touches);
  return partition == Partition::kFree ? all : all / 2;
}

std::vector<StageModel::Release> StageModel::releases_after(std::uint32_t op) const {
  std::vector<Release> releases;
  for (const auto& tensors : {graph_.inputs(OpId{op}), graph_.outputs(OpId{op})}) {
    for (const TensorId tensor : tensors) {
      if (graph_.resident(tensor)) continue;
      const std::span<const OpId> users = graph_.users(tensor);
      const auto later = std::upper_bound(users.begin(), users.end(), OpId{op});
      releases.push_back({tensor, static_cast<std::size_t>(later - users.begin())});
    }
  }
  return releases;
}

void StageModel::add_columns(bool named) {
  const auto add = [&](const LinearProgram::ColumnSpec& spec, const auto& name) {
    LinearProgram::ColumnSpec column = spec;
    if (named) column.name = name();
    return static_cast<std::int32_t>(program_.add_column(std::move(column)));
  };
  runs_.assign(stages_ * std::size_t{ops_}, kNone);
  keeps_.assign((stages_ + std::size_t{1}) * graph_.tensor_count(), kNone);
  first_release_.assign(stages_ * std::size_t{ops_}, kNone);
  memory_.assign(stages_ * std::size_t{ops_}, kNone);
  for (std::uint32_t t = 0; t < stages_; ++t) {
    for (std::uint32_t i = 0; i <= last_op(t); ++i) {
      const bool first = partition_ == Partition::kFrontier && stage_of_[i] == t;
      if (partition_ == Partition::kFrontier && !first && !graph_.recomputable(OpId{i})) continue;
      const double cost = static_cast<double>(graph_.cost(OpId{i}).count()) / cost_scale_;
      runs_[t * std::size_t{ops_} + i] = add({.cost = cost, .lower = first ? 1.0 : 0.0, .whole = true},
                                             [&] { return fmt::format("R_{}_{}", t, i); });
    }
    for (const TensorId v : graph_.tensors()) {
      const bool useful = !graph_.users(v).empty() || graph_.output(v);
      if (graph_.resident(v) || !useful || t == 0 || graph_.producer(v)->value > last_op(t - 1)) continue;
      keeps_[t * graph_.tensor_count() + v.index()] =
          add({.whole = true}, [&] { return fmt::format("S_{}_{}", t, v.value); });
    }
  }
  for (std::uint32_t t = 0; t < stages_; ++t) {
    for (std::uint32_t k = 0; k <= last_op(t); ++k) {
      if (run(t, k) == kNone) continue;
      for (const Release& release : releases_[k]) {
        const std::int32_t index =
            add({.whole = true}, [&] { return fmt::format("F_{}_{}_{}", t, release.tensor.value, k); });
        std::int32_t& first = first_release_[t * std::size_t{ops_} + k];
        if (first == kNone) first = index;
      }
    }
  }
  // Last, and in one piece, so that set_budget() can move all their bounds at once.
  for (std::uint32_t t = 0; t < stages_; ++t) {
    for (std::uint32_t k = 0; k <= last_op(t); ++k) {
      memory_[t * std::size_t{ops_} + k] =
          add({.upper = budget_}, [&] { return fmt::format("U_{}_{}", t, k); });
    }
  }
}

void StageModel::add_terms(std::vector<Term>& terms, double coefficient,
                           std::initializer_list<std::int32_t> columns) {
  for (const std::int32_t index : columns) {
    if (index != kNone) terms.push_back({static_cast<Column>(index), coefficient});
  }
}

void StageModel::add_dependencies() {
  constexpr double kInfinity = LinearProgram::kInfinity;
  std::vector<Term> terms;
  for (std::uint32_t t = 0; t < stages_; ++t) {
    for (std::uint32_t j = 0; j <= last_op(t); ++j) {
      if (run(t, j) == kNone) continue;
      for (const TensorId v : graph_.inputs(OpId{j})) {  // (2)
        if (graph_.resident(v)) continue;
        terms.clear();
        add_terms(terms, 1, {run(t, graph_.producer(v)->value), keep(t, v)});
        add_terms(terms, -1, {run(t, j)});
        program_.add_row(0, kInfinity, terms);
      }
    }
    for (const TensorId v : graph_.tensors()) {  // (3), and (4) at the end
      const bool last = t + 1 == stages_;
      if (graph_.resident(v) || (keep(t + 1, v) == kNone && !(last && graph_.output(v)))) continue;
      terms.clear();
      add_terms(terms, 1, {run(t, graph_.producer(v)->value), keep(t, v)});
      add_terms(terms, -1, {keep(t + 1, v)});
      program_.add_row(last ? 1 : 0, kInfinity, terms);
    }
  }
}

void StageModel::add_frontier() {
  if (partition_ == Partition::kFrontier) return;  // (5) is in the bounds of the columns
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i < ops_; ++i) {
    const auto outputs = graph_.outputs(OpId{i});
    const bool sink =
        std::all_of(outputs.begin(), outputs.end(), [&](TensorId v) { return graph_.users(v).empty(); });
    const bool again = graph_.recomputable(OpId{i});
    if (!sink && again) continue;
    terms.clear();
    for (std::uint32_t t = 0; t < stages_; ++t) add_terms(terms, 1, {run(t, i)});
    program_.add_row(1, again ? LinearProgram::kInfinity : 1,
                     terms);  // (6): every op is an ancestor of a sink
  }
}

void StageModel::add_frees(std::uint32_t t) {
  constexpr double kInfinity = LinearProgram::kInfinity;
  std::vector<Term> hazards;
  for (std::uint32_t k = 0; k <= last_op(t); ++k) {
    for (std::size_t r = 0; run(t, k) != kNone && r < releases_[k].size(); ++r) {
      const auto [v, later] = releases_[k][r];
      const std::int32_t free = release(t, k, r);
      const bool kept_at_end = t + 1 == stages_ && graph_.output(v);
      hazards.clear();
      add_terms(hazards, 1, {keep(t + 1, v)});
      for (const OpId user : graph_.users(v).subspan(later)) {
        if (user.value <= last_op(t)) add_terms(hazards, 1, {run(t, user.value)});
      }
      const double always = kept_at_end ? 1 : 0;
      const double most = static_cast<double>(hazards.size()) + 1 + always;
      std::vector<Term> row = hazards;
      add_terms(row, -1, {run(t, k)});
      add_terms(row, 1, {free});
      program_.add_row(-always, kInfinity, row);  // (8): no hazard, so it goes
      if (!tight_) {
        row.back().coefficient = most;
        program_.add_row(-kInfinity, most - 1 - always, row);  // (9): a hazard, so it stays
        continue;
      }
      const Term freed{static_cast<Column>(free), 1};  // (9a) to (9c): each hazard by itself
      program_.add_row(-kInfinity, 0, std::array{freed, Term{static_cast<Column>(run(t, k)), -1}});
      for (const Term& hazard : hazards) program_.add_row(-kInfinity, 1, std::array{freed, hazard});
      if (kept_at_end) program_.add_row(-kInfinity, 0, std::array{freed});
    }
  }
}

void StageModel::add_memory(std::uint32_t t) {
  std::vector<Term> terms;
  for (std::uint32_t k = 0; k <= last_op(t); ++k) {
    terms.clear();
    if (k == 0) {  // (10)
      for (const TensorId v : graph_.tensors()) add_terms(terms, scaled(graph_.bytes(v)), {keep(t, v)});
    } else {  // (11)
      add_terms(terms, 1, {memory_[t * std::size_t{ops_} + k - 1]});
      add_terms(terms, -scaled(graph_.workspace(OpId{k - 1})), {run(t, k - 1)});
      for (std::size_t r = 0; run(t, k - 1) != kNone && r < releases_[k - 1].size(); ++r) {
        const std::int32_t free = release(t, k - 1, r);
        add_terms(terms, -scaled(graph_.bytes(releases_[k - 1][r].tensor)), {free});
      }
    }
    add_terms(terms, scaled(output_bytes(graph_, OpId{k}) + graph_.workspace(OpId{k})), {run(t, k)});
    add_terms(terms, -1, {memory_[t * std::size_t{ops_} + k]});
    program_.add_row(0, 0, terms);
  }
}

std::vector<double> StageModel::columns_of(std::span<const OpId> steps) const {
  std::vector<double> values(program_.column_count());
  const auto set = [&](std::int32_t index) {
    if (index != kNone) values[static_cast<std::size_t>(index)] = 1;
  };
  std::vector<std::uint32_t> stage_of(steps.size());
  std::uint32_t stage = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    stage_of[step] = std::min(stage, stages_ - 1);
    set(run(stage_of[step], steps[step].value));
    if (stage < stages_ && steps[step].value == ends_[stage]) ++stage;
  }
  const Plan plan = plan_from_steps(graph_, {steps.begin(), steps.end()}).value();
  const Simulation simulation = simulate(graph_, plan).value();
  for (const LiveInterval& stay : simulation.intervals) {
    for (std::uint32_t t = stage_of[stay.first] + 1; t <= stage_of[stay.last]; ++t) set(keep(t, stay.tensor));
    const std::uint32_t op = steps[stay.last].value;
    for (std::size_t r = 0; r < releases_[op].size(); ++r) {
      const bool at_end = stay.last + std::size_t{1} == steps.size() && graph_.output(stay.tensor);
      if (releases_[op][r].tensor != stay.tensor || at_end) continue;
      set(first_release_[stage_of[stay.last] * std::size_t{ops_} + op] + static_cast<std::int32_t>(r));
    }
  }
  fill_memory(values);
  return values;
}

void StageModel::fill_memory(std::vector<double>& values) const {
  const auto value = [&](std::int32_t index) {
    return index == kNone ? 0.0 : values[static_cast<std::size_t>(index)];
  };
  for (std::uint32_t t = 0; t < stages_; ++t) {
    double memory = 0;
    for (const TensorId v : graph_.tensors()) memory += scaled(graph_.bytes(v)) * value(keep(t, v));
    for (std::uint32_t k = 0; k <= last_op(t); ++k) {
      const double workspace = scaled(graph_.workspace(OpId{k})) * value(run(t, k));
      memory += scaled(output_bytes(graph_, OpId{k})) * value(run(t, k)) + workspace;
      values[static_cast<std::size_t>(memory_[t * std::size_t{ops_} + k])] = memory;
      memory -= workspace;
      for (std::size_t r = 0; run(t, k) != kNone && r < releases_[k].size(); ++r) {
        const std::int32_t free = release(t, k, r);
        memory -= scaled(graph_.bytes(releases_[k][r].tensor)) * value(free);
      }
    }
  }
}

std::vector<OpId> StageModel::steps_of(std::span<const double> values) const {
  constexpr double kHalf = 0.5;  // whole up to HiGHS's tolerance
  std::vector<OpId> steps;
  for (std::uint32_t t = 0; t < stages_; ++t) {
    for (std::uint32_t i = 0; i <= last_op(t); ++i) {
      if (run(t, i) != kNone && values[static_cast<std::size_t>(run(t, i))] > kHalf) steps.push_back(OpId{i});
    }
  }
  return steps;
}

double StageModel::kept(std::span<const double> values, OpId before, TensorId tensor) const {
  const auto value = [&](std::int32_t index) {
    return index == kNone ? 0.0 : values[static_cast<std::size_t>(index)];
  };
  if (graph_.resident(tensor)) return 1;
  const std::uint32_t stage = stage_of_[before.index()];
  const bool begins = stage > 0 && ends_[stage - 1] + 1 == before.value;
  const double into = value(keep(stage, tensor));
  return begins ? into : std::min(1.0, into + value(run(stage, graph_.producer(tensor)->value)));
}

void StageModel::set_budget(LinearSolver& solver, Bytes budget) const {
  solver.set_upper_bounds(static_cast<Column>(memory_.front()),
                          static_cast<Column>(program_.column_count() - 1), scaled_budget(budget));
}

std::optional<std::string> stage_model_refusal(const Graph& graph, Partition partition, std::size_t stages) {
  constexpr std::size_t kMostColumns = 4'000'000;
  const std::size_t columns = StageModel::column_estimate(graph, partition, stages);
  if (columns <= kMostColumns) return std::nullopt;
  return fmt::format("the paper's model of this graph has about {} columns; the limit is {}",
                     grouped(static_cast<std::int64_t>(columns)), grouped(kMostColumns));
}

}  // namespace checkmate
