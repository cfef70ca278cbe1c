#include "solve/least_budget/cut_bound.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "solve/common/lifetimes.h"
#include "solve/least_budget/max_flow.h"

namespace checkmate {
namespace {

/// The graph as a network: from the source to what ops of V make, through values, whose bytes are their
/// capacity, and through ops outside V, to the outputs.
class OutputCut {
 public:
  explicit OutputCut(const Lifetimes& graph) : graph_(graph), in_v_(graph.real_ops, true) {
    const auto tensors = static_cast<std::uint32_t>(graph.bytes.size());
    source_ = 2 * tensors + graph.real_ops;
    sink_ = source_ + 1;
    // First the values' own edges, so that a tensor is its edge's number.
    for (std::uint32_t tensor = 0; tensor < tensors; ++tensor) flow_.add_edge(2 * tensor, 2 * tensor + 1);
    for (std::uint32_t op = 0; op < graph.real_ops; ++op) {
      first_edge_.push_back(edges_);
      for (const std::uint32_t tensor : graph.outputs[op]) {
        add(source_, 2 * tensor);
        add(2 * tensors + op, 2 * tensor);
      }
      for (const std::uint32_t tensor : graph.inputs[op]) add(2 * tensor + 1, 2 * tensors + op);
    }
    for (const std::uint32_t tensor : graph.inputs[graph.end()])
      flow_.set_capacity(add(2 * tensor + 1, sink_), MaxFlow::kUnlimited);
    for (std::uint32_t op = 0; op < graph.real_ops; ++op) set_source(op, true);
    for (std::uint32_t tensor = 0; tensor < tensors; ++tensor)
      flow_.set_capacity(tensor, graph.bytes[tensor]);
  }

  bool contains(std::uint32_t op) const { return in_v_[op]; }
  void leave(std::uint32_t op) {
    in_v_[op] = false;
    set_source(op, false);
  }
  void enter(std::uint32_t op) {
    in_v_[op] = true;
    set_source(op, true);
  }

  /// No more than `enough`.
  std::int64_t least(std::int64_t enough) { return flow_.find(source_, sink_, enough); }
  /// The same while the op runs, with its own values free and some other ops in V.
  std::int64_t least_at(std::uint32_t op, const std::vector<std::uint32_t>& others, std::int64_t enough) {
    for_own(op, [&](std::uint32_t tensor) { flow_.set_capacity(tensor, 0); });
    for (const std::uint32_t other : others) set_source(other, true);
    const std::int64_t cut = least(enough);
    for (const std::uint32_t other : others) set_source(other, in_v_[other]);
    for_own(op, [&](std::uint32_t tensor) { flow_.set_capacity(tensor, graph_.bytes[tensor]); });
    return cut;
  }

 private:
  MaxFlow::Edge add(MaxFlow::Node from, MaxFlow::Node to) {
    ++edges_;
    return flow_.add_edge(from, to);
  }
  template <class Do>
  void for_own(std::uint32_t op, const Do& act) const {
    for (const std::uint32_t tensor : graph_.inputs[op]) act(tensor);
    for (const std::uint32_t tensor : graph_.outputs[op]) act(tensor);
  }
  void set_source(std::uint32_t op, bool source) {
    auto edge = static_cast<MaxFlow::Edge>(graph_.bytes.size()) + first_edge_[op];
    for (std::size_t k = 0; k < graph_.outputs[op].size(); ++k) {
      flow_.set_capacity(edge++, source ? MaxFlow::kUnlimited : 0);
      flow_.set_capacity(edge++, source ? 0 : MaxFlow::kUnlimited);
    }
    for (std::size_t k = 0; k < graph_.inputs[op].size(); ++k)
      flow_.set_capacity(edge++, source ? 0 : MaxFlow::kUnlimited);
  }

  const Lifetimes& graph_;
  MaxFlow flow_;
  MaxFlow::Node source_, sink_;
  MaxFlow::Edge edges_ = 0;                // without the values'
  std::vector<MaxFlow::Edge> first_edge_;  // of an op, among those
  std::vector<bool> in_v_;
};

class CutBound {
 public:
  explicit CutBound(const SearchContext& search) : search_(search), graph_(search.graph), cut_(graph_) {
    for (std::uint32_t op = 0; op < graph_.real_ops; ++op) {
      if (search.options.order == Order::kFixed && !graph_.recomputable[op]) once_.push_back(op);
    }
  }

  /// Whether some V proves that every plan needs `bytes`; nothing where there was no time to tell. V stays as
  /// it is if so, for larger bounds, and is put back if not.
  std::optional<bool> proves(std::int64_t bytes) {
    std::vector<std::uint32_t> taken_out;
    const auto put_back = [&] {
      for (const std::uint32_t op : taken_out) cut_.enter(op);
    };
    for (bool changed = true; changed;) {
      changed = false;
      bool any = false;
      std::int64_t all = cut_.least(bytes);
      for (std::uint32_t op = graph_.real_ops; op-- > 0;) {
        if (!cut_.contains(op)) continue;
        if (search_.stopped()) return put_back(), std::nullopt;
        any = true;
        if (!below(op, bytes, all)) continue;
        cut_.leave(op);
        taken_out.push_back(op);
        changed = true;
        all = cut_.least(bytes);
      }
      if (!any) return put_back(), false;
    }
    return true;
  }

 private:
  /// Whether memory may be less than that while the op has the last run of V. `all` is the least cut with
  /// nothing free: what the op has for itself can lower it by no more than its bytes.
  bool below(std::uint32_t op, std::int64_t bytes, std::int64_t all) {
    if (graph_.workspace[op] + all >= bytes) return false;
    const std::int64_t missing = bytes - graph_.own[op];
    if (missing <= 0) return false;
    others_.assign(once_.begin(), std::lower_bound(once_.begin(), once_.end(), op));
    return cut_.least_at(op, others_, missing) < missing;
  }

  const SearchContext& search_;
  Lifetimes graph_;
  OutputCut cut_;
  std::vector<std::uint32_t> once_, others_;
};

}  // namespace

Bytes cut_bound(const SearchContext& search, Bytes known, Bytes enough) {
  const Graph& graph = search.graph;
  const auto is_output = [&](TensorId tensor) { return graph.output(tensor) && !graph.resident(tensor); };
  const auto tensors = graph.tensors();
  if (std::none_of(tensors.begin(), tensors.end(), is_output)) return known;
  CutBound bound(search);
  const std::int64_t fixed = graph.fixed_bytes().count();
  std::int64_t proven = known.count() - fixed;
  std::int64_t failed = enough.count() - fixed + 1;
  // Near what is known first: what proves a little more is where a proof of much more starts from.
  std::int64_t step = std::max<std::int64_t>(proven / 128, 1);
  const std::int64_t apart = std::max<std::int64_t>(proven / 500, 1);
  while (failed - proven > 0 && !search.stopped()) {
    const std::int64_t next = proven + std::min(step, std::max<std::int64_t>((failed - proven) / 2, 1));
    const std::optional<bool> proves = next < failed ? bound.proves(next) : std::optional(false);
    if (!proves) break;
    if (*proves) {
      proven = next;
      step *= 2;
    } else {
      if (next >= failed || next - proven <= apart) break;
      failed = next;
      step = std::max<std::int64_t>((failed - proven) / 2, 1);
    }
  }
  return Bytes{proven + fixed};
}

}  // namespace checkmate
