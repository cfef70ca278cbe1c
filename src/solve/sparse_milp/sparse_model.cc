#include "solve/sparse_milp/sparse_model.h"

#include <algorithm>
#include <array>

#include "checkmate/plan.h"
#include "checkmate/simulate.h"

namespace checkmate {
namespace {

constexpr double kInfinity = LinearProgram::kInfinity;
/// Budgets and costs become this: large against HiGHS's absolute tolerance of 1e-6, small against its idea of
/// a large number.
constexpr double kScale = 1000;
/// Memory rows give way by this, so that rounding never cuts off a plan that fills the budget to the byte.
constexpr double kSlack = 1e-6;
constexpr std::uint32_t kAlways = UINT32_MAX;

/// Collects the terms of columns that exist.
void add_term(std::vector<Term>& terms, double coefficient, std::int32_t column) {
  if (column != SparseModel::kNone) terms.push_back({static_cast<Column>(column), coefficient});
}

/// While the op runs: its workspace, outputs and inputs.
Bytes own_bytes(const Graph& graph, OpId op) {
  Bytes bytes = graph.workspace(op);
  for (const TensorId tensor : graph.outputs(op)) bytes += graph.bytes(tensor);
  for (const TensorId tensor : graph.inputs(op)) {
    if (!graph.resident(tensor)) bytes += graph.bytes(tensor);
  }
  return bytes;
}

}  // namespace

SparseModel::SparseModel(const Graph& graph, const Options& options)
    : graph_(graph), moments_(options.moments), budget_(options.budget - graph.fixed_bytes()) {
  byte_scale_ = kScale / static_cast<double>(std::max<std::int64_t>(budget_.count(), 1));
  cost_scale_ = std::max(static_cast<double>(graph.keep_all_cost().count()), 1.0) / kScale;
  find_last_needs();
  add_columns();
  for (std::uint32_t block = 0; block < block_count(); ++block) {
    add_needs(block);
    add_stays(block);
    if (block < moments_.size()) add_memory(block);
  }
  for (const InnerMoment& inner : options.inner) {
    const std::uint32_t block = block_of(inner.stage);
    const bool after_all = first_op(block) == graph.op_count();
    const bool by_itself = after_all || end_op(block) - first_op(block) == 1;
    if (!by_itself || inner.op.value >= first_op(block)) continue;
    if (options.scope == Scope::kPapersClass && !after_all) add_turn(block, inner.op);
    if (options.scope == Scope::kEveryPlan) add_rerun(block, inner.op);
  }
}

std::size_t SparseModel::column_estimate(const Graph& graph, std::size_t moments) {
  return moments * (graph.op_count() + graph.tensor_count());
}

double SparseModel::cost_of(double objective) const {
  return static_cast<double>(graph_.keep_all_cost().count()) + objective * cost_scale_;
}

Bytes SparseModel::room_at(OpId op) const { return budget_ - own_bytes(graph_, op); }

std::uint32_t SparseModel::block_of(Stage stage) const {
  return static_cast<std::uint32_t>(std::lower_bound(moments_.begin(), moments_.end(), stage) -
                                    moments_.begin());
}

void SparseModel::find_last_needs() {
  op_need_.assign(graph_.op_count(), 0);
  tensor_need_.assign(graph_.tensor_count(), 0);
  for (auto op = static_cast<std::uint32_t>(graph_.op_count()); op-- > 0;) {
    for (const TensorId tensor : graph_.outputs(OpId{op})) {
      std::uint32_t& need = tensor_need_[tensor.index()];
      if (graph_.output(tensor)) need = kAlways;
      for (const OpId user : graph_.users(tensor)) {
        const std::uint32_t rerun = graph_.recomputable(user) ? op_need_[user.index()] : 0;
        need = std::max({need, user.value, rerun});
      }
      op_need_[op] = std::max(op_need_[op], need);
    }
  }
}

void SparseModel::add_columns() {
  runs_.assign(block_count() * graph_.op_count(), kNone);
  keeps_.assign((block_count() + std::size_t{1}) * graph_.tensor_count(), kNone);
  for (std::uint32_t block = 1; block < block_count(); ++block) {
    const std::uint32_t begin = first_op(block);
    for (std::uint32_t i = 0; i < begin; ++i) {
      const OpId op{i};
      if (op_need_[i] >= begin && graph_.recomputable(op)) {
        const double cost = static_cast<double>(graph_.cost(op).count()) / cost_scale_;
        runs_[block * graph_.op_count() + i] =
            static_cast<std::int32_t>(program_.add_column({.cost = cost, .whole = true}));
      }
      for (const TensorId tensor : graph_.outputs(op)) {
        if (tensor_need_[tensor.index()] < begin) continue;
        keeps_[block * graph_.tensor_count() + tensor.index()] =
            static_cast<std::int32_t>(program_.add_column({.whole = true}));
      }
    }
  }
}

bool SparseModel::needed_first(std::uint32_t block, TensorId tensor) const {
  if (graph_.output(tensor) && block + 1 == block_count()) return true;
  const auto users = graph_.users(tensor);
  const auto first = std::lower_bound(users.begin(), users.end(), OpId{first_op(block)});
  return first != users.end() && first->value < end_op(block);
}

/// What is read in a block was kept into it or is rerun in it.
void SparseModel::add_needs(std::uint32_t block) {
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i < first_op(block); ++i) {
    for (const TensorId tensor : graph_.outputs(OpId{i})) {
      const std::int32_t kept = keep(block, tensor);
      if (kept == kNone) continue;
      terms.clear();
      add_term(terms, 1, kept);
      add_term(terms, 1, run(block, OpId{i}));
      if (needed_first(block, tensor)) {
        program_.add_row(1, terms.size() == 1 ? kInfinity : 1, terms);
        continue;
      }
      for (const OpId user : graph_.users(tensor)) {
        if (user.value >= first_op(block) || run(block, user) == kNone) continue;
        add_term(terms, -1, run(block, user));
        program_.add_row(0, kInfinity, terms);
        terms.pop_back();
      }
      if (terms.size() > 1) program_.add_row(-kInfinity, 1, terms);
    }
  }
}

/// What is kept out of a block was kept into it or is rerun in it.
void SparseModel::add_stays(std::uint32_t block) {
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i < first_op(block); ++i) {
    for (const TensorId tensor : graph_.outputs(OpId{i})) {
      if (keep(block + 1, tensor) == kNone || needed_first(block, tensor)) continue;
      terms.clear();
      add_term(terms, 1, keep(block + 1, tensor));
      add_term(terms, -1, keep(block, tensor));
      add_term(terms, -1, run(block, OpId{i}));
      program_.add_row(-kInfinity, 0, terms);
    }
  }
}

std::vector<Term> SparseModel::memory_terms(std::uint32_t block) const {
  const OpId moment{moments_[block]};
  const auto own = graph_.inputs(moment);
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i < moment.value; ++i) {
    for (const TensorId tensor : graph_.outputs(OpId{i})) {
      if (std::find(own.begin(), own.end(), tensor) != own.end() || graph_.bytes(tensor) == Bytes{0})
        continue;
      add_term(terms, scaled(graph_.bytes(tensor)), keep(block + 1, tensor));
    }
  }
  return terms;
}

/// While the op of the moment runs, there is all that it needs itself and all that is kept across.
void SparseModel::add_memory(std::uint32_t block) {
  const std::vector<Term> terms = memory_terms(block);
  const double room = scaled(room_at(OpId{moments_[block]}));
  if (!terms.empty()) program_.add_row(-kInfinity, std::max(room, 0.0) + kSlack, terms);
}

double SparseModel::free_share(std::uint32_t block, std::span<const double> values) const {
  double room = scaled(room_at(OpId{moments_[block]}));
  for (const auto& [column, bytes] : memory_terms(block))
    room -= bytes * values[static_cast<std::size_t>(column)];
  return room / scaled(budget_);
}

/// An op that is rerun in a stage by itself meets what is kept through the stage, and what is kept into it
/// for the first run at its end: columns_of() calls kept into a block only what is not rerun in it. In the
/// last stage, where it has first runs, reruns may also come when these are done, and meet less; after all
/// first runs they meet the outputs that are kept.
void SparseModel::add_rerun(std::uint32_t block, OpId op) {
  if (block == moments_.size() && first_op(block) < graph_.op_count()) return;
  const auto inputs = graph_.inputs(op);
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i < first_op(block); ++i) {
    for (const TensorId tensor : graph_.outputs(OpId{i})) {
      const bool own = OpId{i} == op || std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
      const std::int32_t into = keep(block, tensor);
      const std::int32_t out = keep(block + 1, tensor);
      if (own || into == kNone || graph_.bytes(tensor) == Bytes{0}) continue;
      const double bytes = scaled(graph_.bytes(tensor));
      if (needed_first(block, tensor)) {
        add_term(terms, bytes, into);
      } else if (out != kNone) {
        const Column through = program_.add_column({});
        const std::vector<Column> reasons = {static_cast<Column>(into), static_cast<Column>(out)};
        program_.add_row(-1, kInfinity,
                         std::array{Term{through, 1}, Term{reasons[0], -1}, Term{reasons[1], -1}});
        held_.push_back({through, true, reasons});
        terms.push_back({through, bytes});
      }
    }
  }
  add_term(terms, scaled(own_bytes(graph_, op)), run(block, op));
  program_.add_row(-kInfinity, scaled(budget_) + kSlack, terms);
}

/// Memory at the turn of an op in a stage by itself, where the stage's reruns come in index order: what an
/// earlier op made is there if something at its turn or later reads it, or if it is kept out of the stage;
/// what a later op made is there if it was kept into the stage.
void SparseModel::add_turn(std::uint32_t block, OpId op) {
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i < first_op(block); ++i) {
    for (const TensorId tensor : graph_.outputs(OpId{i})) {
      if (i < op.value) {
        add_held(terms, block, op, tensor);
        continue;
      }
      add_term(terms, scaled(graph_.bytes(tensor)), keep(block, tensor));
      if (i == op.value) add_term(terms, scaled(graph_.bytes(tensor)), run(block, op));
    }
  }
  add_term(terms, scaled(graph_.workspace(op)), run(block, op));
  program_.add_row(-kInfinity, scaled(budget_) + kSlack, terms);
}

void SparseModel::add_held(std::vector<Term>& terms, std::uint32_t block, OpId op, TensorId tensor) {
  const double bytes = scaled(graph_.bytes(tensor));
  if (bytes == 0) return;
  if (needed_first(block, tensor)) {
    add_term(terms, bytes, keep(block, tensor));
    add_term(terms, bytes, run(block, *graph_.producer(tensor)));
    return;
  }
  std::vector<Column> reasons;
  if (const std::int32_t out = keep(block + 1, tensor); out != kNone)
    reasons.push_back(static_cast<Column>(out));
  for (const OpId user : graph_.users(tensor)) {
    if (user < op || user.value >= first_op(block) || run(block, user) == kNone) continue;
    reasons.push_back(static_cast<Column>(run(block, user)));
  }
  if (reasons.empty()) return;
  Term held{reasons.front(), bytes};
  if (reasons.size() > 1) {
    held.column = program_.add_column({});
    for (const Column reason : reasons)
      program_.add_row(0, kInfinity, std::array{Term{held.column, 1}, Term{reason, -1}});
    held_.push_back({held.column, false, std::move(reasons)});
  }
  terms.push_back(held);
}

std::vector<double> SparseModel::columns_of(std::span<const OpId> steps) const {
  std::vector<double> values(program_.column_count());
  const auto set = [&](std::int32_t column, double value) {
    if (column != kNone) values[static_cast<std::size_t>(column)] = value;
  };
  std::vector<std::uint32_t> block_of_step(steps.size());
  std::uint32_t frontier = 0;
  const Plan plan = plan_from_steps(graph_, {steps.begin(), steps.end()}).value();
  const Simulation simulation = simulate(graph_, plan).value();
  for (std::size_t step = 0; step < steps.size(); ++step) {
    block_of_step[step] = block_of(frontier);
    if (steps[step].value == frontier) ++frontier;
  }
  for (const LiveInterval& stay : simulation.intervals) {
    const bool to_the_end = graph_.output(stay.tensor) && stay.last + std::size_t{1} == steps.size();
    const std::uint32_t last = to_the_end ? block_count() - 1 : block_of_step[stay.last];
    for (std::uint32_t block = block_of_step[stay.first] + 1; block <= last; ++block)
      set(keep(block, stay.tensor), 1);
  }
  // After the stays: what is rerun in a block was not there all the time, even if it was kept into it.
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const OpId op = steps[step];
    if (run(block_of_step[step], op) == kNone) continue;
    set(run(block_of_step[step], op), 1);
    for (const TensorId tensor : graph_.outputs(op)) set(keep(block_of_step[step], tensor), 0);
  }
  for (const Held& held : held_) {
    const auto is_one = [&](Column column) { return values[static_cast<std::size_t>(column)] == 1; };
    const bool one = held.all ? std::all_of(held.reasons.begin(), held.reasons.end(), is_one)
                              : std::any_of(held.reasons.begin(), held.reasons.end(), is_one);
    values[static_cast<std::size_t>(held.column)] = one ? 1 : 0;
  }
  return values;
}

}  // namespace checkmate
