#include "checkmate/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"

namespace checkmate {
namespace {

constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {"forward", "loss", "backward", "update"};
constexpr OpId kNoOp{UINT32_MAX};

std::string label(std::string_view what, std::size_t index, std::string_view name) {
  return name.empty() ? fmt::format("{} {}", what, index)
                      : fmt::format("{} {} {}", what, index, in_quotes(name));
}

}  // namespace

std::string_view to_string(Phase phase) { return kPhaseNames.at(static_cast<std::size_t>(phase)); }

std::optional<Phase> parse_phase(std::string_view text) {
  const auto* const found = std::find(kPhaseNames.begin(), kPhaseNames.end(), text);
  if (found == kPhaseNames.end()) return std::nullopt;
  return static_cast<Phase>(found - kPhaseNames.begin());
}

Result<Graph> Graph::with_costs(std::span<const Cost> costs, std::string cost_unit) const {
  const auto wrong = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  if (costs.size() != op_count()) {
    return wrong(fmt::format("{} for {}", counted(costs.size(), "cost"), counted(op_count(), "op")));
  }
  Cost total;
  for (const OpId op : ops()) {
    const Cost cost = costs[op.index()];
    if (cost < Cost{0})
      return wrong(fmt::format("{} costs {}", label("op", op.index(), name(op)), cost.count()));
    if (cost.count() > kLargestTotal - total.count()) return wrong("the costs add up to more than 2^62");
    total += cost;
  }
  Graph graph = *this;
  graph.cost_.assign(costs.begin(), costs.end());
  graph.cost_unit_ = std::move(cost_unit);
  graph.keep_all_cost_ = total;
  return graph;
}

/// Keeps the first `limit` problems and counts the rest, so that a hostile file cannot fill the memory with
/// complaints.
class GraphBuilder::Problems {
 public:
  explicit Problems(std::size_t limit) : limit_(limit) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (count_++ < limit_)
      kept_.push_back({ErrorCode::kInvalidGraph, fmt::format(format, std::forward<Args>(args)...)});
  }
  std::size_t count() const { return count_; }
  std::vector<Error>& kept() { return kept_; }

 private:
  std::size_t limit_;
  std::size_t count_ = 0;
  std::vector<Error> kept_;
};

GraphBuilder::GraphBuilder(std::string name, std::string cost_unit) {
  graph_.name_ = std::move(name);
  graph_.cost_unit_ = std::move(cost_unit);
}

TensorId GraphBuilder::add_tensor(const TensorSpec& spec) {
  const TensorId id{static_cast<std::uint32_t>(graph_.bytes_.size())};
  graph_.tensor_names_.rows.push(spec.name);
  graph_.bytes_.push_back(spec.bytes);
  graph_.resident_.push_back(spec.resident);
  graph_.output_.push_back(spec.output);
  return id;
}

OpId GraphBuilder::add_op(const OpSpec& spec) {
  const OpId id{static_cast<std::uint32_t>(graph_.cost_.size())};
  graph_.op_names_.rows.push(spec.name);
  const auto [kind, added] =
      kind_index_.try_emplace(spec.kind, static_cast<std::uint32_t>(graph_.kinds_.size()));
  if (added) graph_.kinds_.push_back(spec.kind);
  graph_.kind_.push_back(kind->second);
  graph_.cost_.push_back(spec.cost);
  graph_.workspace_.push_back(spec.workspace);
  graph_.phase_.push_back(spec.phase);
  graph_.recomputable_.push_back(spec.recomputable);
  graph_.inputs_.push(spec.inputs);
  graph_.outputs_.push(spec.outputs);
  return id;
}

TensorId GraphBuilder::add_op_with_output(OpSpec spec, Bytes bytes) {
  const TensorId output = add_tensor({.name = spec.name, .bytes = bytes});
  spec.outputs = {output};
  add_op(spec);
  return output;
}

Result<void> GraphBuilder::set_costs(std::vector<Cost> costs) {
  if (costs.size() != graph_.op_count()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} for {}", counted(costs.size(), "cost"), counted(graph_.op_count(), "op"))};
  }
  graph_.cost_ = std::move(costs);
  return {};
}

std::vector<Error> GraphBuilder::problems(std::size_t limit) const {
  Problems problems(limit);
  check_all(problems);
  return std::move(problems.kept());
}

Result<Graph> GraphBuilder::build() && {
  constexpr std::size_t kTold = 3;
  Problems problems(kTold);
  check_all(problems);
  if (problems.count() == 0) {
    finish();
    return std::move(graph_);
  }
  std::string message;
  for (const Error& problem : problems.kept()) message += (message.empty() ? "" : "; ") + problem.message;
  if (problems.count() > kTold)
    message += fmt::format("; and {} more", counted(problems.count() - kTold, "problem"));
  return Error{ErrorCode::kInvalidGraph, message};
}

void GraphBuilder::check_all(Problems& problems) const {
  if (graph_.op_count() == 0) problems.add("the graph has no op; a training step has at least one");
  if (std::max(graph_.op_count(), graph_.tensor_count()) >= kNoOp.index()) {
    problems.add("the graph has too many ops or tensors; the limit is 2^32 - 2");
    return;
  }
  check_tensors(problems);
  check_ops(problems);
  check_order(problems);
  check_totals(problems);
}

void GraphBuilder::check_tensors(Problems& problems) const {
  std::vector<std::uint32_t> runs(graph_.tensor_count());
  for (const TensorId tensor : graph_.outputs_.items()) {
    if (tensor.index() < runs.size()) ++runs[tensor.index()];
  }
  for (const TensorId tensor : graph_.tensors()) {
    const std::string_view name = graph_.name(tensor);
    const std::size_t i = tensor.index();
    if (graph_.bytes(tensor) < Bytes{0}) {
      problems.add("{} has {} bytes; a size must be 0 or more", label("tensor", i, name),
                   graph_.bytes(tensor).count());
    }
    if (graph_.resident(tensor) && graph_.output(tensor)) {
      problems.add("{} is both resident and an output; choose one, since a resident tensor stays in any case",
                   label("tensor", i, name));
    }
    if (graph_.resident(tensor) && runs[i] > 0) {
      problems.add("{} is resident, but an op makes it; remove one of the two", label("tensor", i, name));
    }
    if (!graph_.resident(tensor) && runs[i] != 1) {
      problems.add("{} is made by {}; one op must make it, or it is resident", label("tensor", i, name),
                   runs[i] == 0 ? "no op" : fmt::format("{} ops", runs[i]));
    }
  }
}

void GraphBuilder::check_ops(Problems& problems) const {
  for (const OpId op : graph_.ops()) {
    const std::string_view name = graph_.name(op);
    const std::size_t i = op.index();
    if (graph_.cost(op) < Cost{0}) {
      problems.add("{} costs {}; a cost must be 0 or more", label("op", i, name), graph_.cost(op).count());
    }
    if (graph_.workspace(op) < Bytes{0}) {
      problems.add("{} has a workspace of {} bytes; it must be 0 or more", label("op", i, name),
                   graph_.workspace(op).count());
    }
    if (graph_.outputs(op).empty()) {
      problems.add("{} has no output; add one, of 0 bytes if necessary", label("op", i, name));
    }
    for (const auto& [verb, tensors] :
         {std::pair("reads", graph_.inputs(op)), std::pair("makes", graph_.outputs(op))}) {
      for (const TensorId tensor : tensors) {
        if (tensor.index() < graph_.tensor_count()) continue;
        problems.add("{} {} the unknown tensor {}; the graph has {}", label("op", i, name), verb,
                     tensor.value, counted(graph_.tensor_count(), "tensor"));
      }
    }
  }
}

std::vector<OpId> GraphBuilder::producers() const {
  std::vector<OpId> producers(graph_.tensor_count(), kNoOp);
  for (const OpId op : graph_.ops()) {
    for (const TensorId tensor : graph_.outputs(op)) {
      if (tensor.index() < producers.size() && producers[tensor.index()] == kNoOp)
        producers[tensor.index()] = op;
    }
  }
  return producers;
}

void GraphBuilder::check_order(Problems& problems) const {
  const std::vector<OpId> made_by = producers();
  bool cycle_told = false;
  for (const OpId op : graph_.ops()) {
    for (const TensorId tensor : graph_.inputs(op)) {
      if (tensor.index() >= graph_.tensor_count() || graph_.resident(tensor)) continue;
      const OpId producer = made_by[tensor.index()];
      if (producer == kNoOp || producer < op) continue;
      const std::string loop = std::exchange(cycle_told, true) ? "" : cycle(made_by);
      if (!loop.empty()) problems.add("ops form a cycle: {}", loop);
      problems.add("{} reads {}, which {} makes later; list the ops in topological order",
                   label("op", op.index(), graph_.name(op)),
                   label("tensor", tensor.index(), graph_.name(tensor)),
                   producer == op ? "the op itself" : label("op", producer.index(), graph_.name(producer)));
    }
  }
}

/// `a -> b -> a` for some cycle, or nothing where only the order is wrong. Kahn's algorithm leaves behind the
/// ops that are on or after a cycle; walking from any of those to a producer that is left as well must come
/// round.
std::string GraphBuilder::cycle(const std::vector<OpId>& made_by) const {
  const auto producer_of = [&](TensorId tensor) {
    return tensor.index() < made_by.size() && !graph_.resident(tensor) ? made_by[tensor.index()] : kNoOp;
  };
  std::vector<std::vector<OpId>> users(graph_.op_count());
  std::vector<std::uint32_t> waiting(graph_.op_count());
  for (const OpId op : graph_.ops()) {
    for (const TensorId tensor : graph_.inputs(op)) {
      const OpId producer = producer_of(tensor);
      if (producer == kNoOp) continue;
      users[producer.index()].push_back(op);
      ++waiting[op.index()];
    }
  }
  std::vector<OpId> ready;
  for (const OpId op : graph_.ops()) {
    if (waiting[op.index()] == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    const OpId op = ready.back();
    ready.pop_back();
    for (const OpId user : users[op.index()]) {
      if (--waiting[user.index()] == 0) ready.push_back(user);
    }
  }
  const auto left =
      std::find_if(waiting.begin(), waiting.end(), [](std::uint32_t count) { return count > 0; });
  if (left == waiting.end()) return "";

  std::vector<OpId> path;
  std::vector<bool> visited(graph_.op_count());
  OpId op{static_cast<std::uint32_t>(left - waiting.begin())};
  while (!visited[op.index()]) {
    visited[op.index()] = true;
    path.push_back(op);
    for (const TensorId tensor : graph_.inputs(op)) {
      const OpId producer = producer_of(tensor);
      if (producer == kNoOp || waiting[producer.index()] == 0) continue;
      op = producer;
      break;
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), op));
  std::string text = label("op", op.index(), graph_.name(op));
  constexpr std::size_t kTold = 6;
  if (path.size() > kTold) text += fmt::format(" -> {} more", path.size() - kTold);
  for (std::size_t i = std::min(path.size(), kTold); i-- > 0;) {
    text += " -> " + label("op", path[i].index(), graph_.name(path[i]));
  }
  return text;
}

void GraphBuilder::check_totals(Problems& problems) const {
  bool fits = true;
  const auto add = [&fits](std::int64_t& total, std::int64_t amount) {
    if (amount < 0) return;  // reported already
    fits = fits && amount <= kLargestTotal - total;
    if (fits) total += amount;
  };
  if (graph_.reserved_bytes() < Bytes{0}) {
    problems.add("reserved bytes are {}; they must be 0 or more", graph_.reserved_bytes().count());
  }
  std::int64_t bytes = 0;
  add(bytes, graph_.reserved_bytes().count());
  for (const Bytes size : graph_.bytes_) add(bytes, size.count());
  for (const Bytes workspace : graph_.workspace_) add(bytes, workspace.count());
  if (!std::exchange(fits, true))
    problems.add("the sizes add up to more than 2^62 bytes; are they in bytes, and is the batch right?");

  std::int64_t cost = 0;
  for (const Cost op_cost : graph_.cost_) add(cost, op_cost.count());
  if (!fits) problems.add("the costs add up to more than 2^62; use a larger cost unit or a smaller batch");
}

/// Fills in what follows from the specs. Every id is known to be valid here.
void GraphBuilder::finish() {
  Graph& g = graph_;
  std::vector<OpId> reader(g.tensor_count(), kNoOp);
  Rows<TensorId> distinct;
  for (const OpId op : g.ops()) {
    for (const TensorId input : g.inputs(op)) {
      if (std::exchange(reader[input.index()], op) != op) distinct.push_item(input);
    }
    distinct.end_row();
  }
  g.inputs_ = std::move(distinct);

  g.producer_ = producers();
  g.fixed_bytes_ = g.reserved_bytes_;
  for (const TensorId tensor : g.tensors()) {
    if (g.resident(tensor)) g.fixed_bytes_ += g.bytes(tensor);
  }
  for (const Cost cost : g.cost_) g.keep_all_cost_ += cost;

  g.users_ = Rows<OpId>::by_row(g.tensor_count(), [&](const auto& visit) {
    for (const OpId op : g.ops()) {
      for (const TensorId tensor : g.inputs(op)) visit(tensor.index(), op);
    }
  });
  std::vector<OpId> counted_for(g.op_count(), kNoOp);
  for (const OpId op : g.ops()) {
    for (const TensorId tensor : g.inputs(op)) {
      if (g.resident(tensor)) continue;
      if (std::exchange(counted_for[g.producer_[tensor.index()].index()], op) != op) ++g.edge_count_;
    }
  }
}

}  // namespace checkmate
