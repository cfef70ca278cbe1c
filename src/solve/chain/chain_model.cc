#include "solve/chain/chain_model.h"

#include <algorithm>

#include "solve/common/forward.h"

namespace checkmate {

ChainModel::ChainModel(const Graph& graph, const std::vector<OpId>& ends)
    : graph_(graph), forward_(forward_size(graph)) {
  assign_layers(ends);
  find_uses();
  measure_boundaries();
  measure_reads();
  measure_sweeps();
  measure_reversals();
}

void ChainModel::assign_layers(const std::vector<OpId>& ends) {
  layer_.resize(graph_.op_count());
  std::size_t end = 0;
  for (Stage op = 0; op < forward_; ++op) {
    layer_[op] = static_cast<Layer>(end + 1);
    if (end < ends.size() && ends[end].value == op && op + 1 < forward_) ++end;
  }
  length_ = forward_ == 0 ? 0 : layer_[forward_ - 1];
  cost_.resize(stride());
  for (Stage op = 0; op < forward_; ++op) {
    if (graph_.recomputable(OpId{op}))
      cost_[layer_[op]] += static_cast<double>(graph_.cost(OpId{op}).count());
  }
  reversed_.assign(stride(), forward_);
  Layer current = length_;
  for (Stage op = forward_; op < graph_.op_count(); ++op) {
    Layer latest = 0;
    for (const TensorId tensor : graph_.inputs(OpId{op})) {
      if (graph_.resident(tensor) || graph_.producer(tensor)->value >= forward_) continue;
      latest = std::max(latest, layer_[graph_.producer(tensor)->index()]);
    }
    if (latest > 0) current = std::min(current, latest);
    layer_[op] = current;
    reversed_[current] = op;
  }
  // A layer that no stage reverses is done with the one after it.
  for (Layer layer = length_; layer-- > 0;)
    reversed_[layer] = std::max(reversed_[layer], reversed_[layer + 1]);
}

void ChainModel::find_uses() {
  last_forward_use_.resize(graph_.tensor_count());
  last_use_.resize(graph_.tensor_count());
  read_in_reverse_.resize(graph_.tensor_count());
  for (const OpId op : graph_.ops()) {
    for (const TensorId tensor : graph_.outputs(op)) {
      Stage& forward = last_forward_use_[tensor.index()] = op.value;
      Stage& any = last_use_[tensor.index()] = op.value;
      for (const OpId user : graph_.users(tensor)) {
        any = std::max(any, user.value);
        if (user.value < forward_) forward = std::max(forward, user.value);
        if (user.value >= forward_ && op.value < forward_ && of(user) <= of(op))
          read_in_reverse_[tensor.index()] = true;
      }
      if (graph_.output(tensor)) any = static_cast<Stage>(graph_.op_count());
    }
  }
}

bool ChainModel::always_kept(OpId op, TensorId tensor) const {
  return !graph_.recomputable(op) || graph_.output(tensor);
}

bool ChainModel::crosses(OpId op, TensorId tensor, Layer boundary) const {
  return layer_[op.index()] <= boundary && layer_[last_forward_use(tensor)] > boundary;
}

void ChainModel::measure_boundaries() {
  boundary_.assign(stride() * stride(), 0);
  kept_.assign(stride(), 0);
  boundary_is_enough_.assign(stride(), true);
  idle_.assign(stride(), true);
  for (Stage op = forward_; op < graph_.op_count(); ++op) idle_[layer_[op]] = false;
  crossing_.resize(stride());
  read_of_.resize(stride());
  for (Stage op = 0; op < forward_; ++op) {
    const Layer made = layer_[op];
    for (const TensorId tensor : graph_.outputs(OpId{op})) {
      if (always_kept(OpId{op}, tensor)) continue;
      const std::int64_t bytes = graph_.bytes(tensor).count();
      const Layer read = layer_[last_forward_use(tensor)];
      if (read > made || read_in_reverse(tensor)) kept_[made] += bytes;
      if (read_in_reverse(tensor)) {
        read_of_[made].push_back(tensor);
        idle_[made] = false;
        if (read == made) boundary_is_enough_[made] = false;
      }
      for (Layer to = made; to < read; ++to) {
        boundary_[(made - 1) * stride() + to] += bytes;
        crossing_[to].push_back(tensor);
      }
    }
  }
  // Row `from` has what layer from+1 makes; boundary(from, to) is all that the layers after `from` make.
  for (Layer from = length_; from-- > 0;) {
    for (Layer to = from + 1; to <= length_; ++to)
      boundary_[from * stride() + to] += from + 1 < to ? boundary_[(from + 1) * stride() + to] : 0;
  }
}

bool ChainModel::read_reversing(TensorId tensor, Layer layer) const {
  const auto users = graph_.users(tensor);
  return std::any_of(users.begin(), users.end(),
                     [&](OpId user) { return user.value >= forward_ && of(user) == layer; });
}

void ChainModel::measure_reads() {
  reads_since_.assign(stride() * stride(), 0);
  read_before_.resize(stride());
  for (Stage op = 0; op < forward_; ++op) {
    for (const TensorId tensor : graph_.outputs(OpId{op})) {
      if (always_kept(OpId{op}, tensor)) continue;
      Layer latest = 0;
      for (const OpId user : graph_.users(tensor)) {
        if (user.value < forward_ || of(user) <= layer_[op] || of(user) == latest) continue;
        latest = of(user);  // users are in order, and so, back to front, are their layers
        read_before_[latest].push_back(tensor);
        reads_since_[(layer_[op] - 1) * stride() + latest] += graph_.bytes(tensor).count();
      }
    }
  }
  for (Layer from = length_; from-- > 1;) {
    for (Layer layer = from + 1; layer <= length_; ++layer)
      reads_since_[(from - 1) * stride() + layer] += reads_since_[from * stride() + layer];
  }
}

void ChainModel::measure_sweeps() {
  sweep_.assign(stride() * stride(), 0);
  keep_peak_.assign(stride(), 0);
  std::vector<std::int64_t> live(stride());  // by the layer that makes them
  std::int64_t kept = 0;                     // of the layer so far
  for (Stage op = 0; op < forward_; ++op) {
    const Layer layer = layer_[op];
    if (op > 0 && layer_[op - 1] != layer) {
      kept = 0;
      for (Layer first = 1; first < layer; ++first)
        sweep_[first * stride() + layer] = sweep_[first * stride() + layer - 1];
    }
    const auto outputs = graph_.outputs(OpId{op});
    for (const TensorId tensor : outputs) {
      if (always_kept(OpId{op}, tensor)) continue;
      live[layer] += graph_.bytes(tensor).count();
      kept += graph_.bytes(tensor).count();
    }
    const std::int64_t workspace = graph_.workspace(OpId{op}).count();
    keep_peak_[layer] = std::max(keep_peak_[layer], kept + workspace);
    std::int64_t after = workspace;
    for (Layer first = layer; first >= 1; --first) {
      after += live[first];
      std::int64_t& most = sweep_[first * stride() + layer];
      most = std::max(most, after);
    }
    const auto free = [&](OpId maker, TensorId tensor) {
      if (always_kept(maker, tensor) || last_forward_use(tensor) != op) return;
      live[layer_[maker.index()]] -= graph_.bytes(tensor).count();
      if (layer_[maker.index()] == layer && !read_in_reverse(tensor)) kept -= graph_.bytes(tensor).count();
    };
    for (const TensorId tensor : graph_.inputs(OpId{op})) {
      if (!graph_.resident(tensor)) free(*graph_.producer(tensor), tensor);
    }
    for (const TensorId tensor : outputs) free(OpId{op}, tensor);
  }
}

/// Goes back from the end, so that a value begins where it is last used and ends where it is made.
void ChainModel::measure_reversals() {
  reverse_peak_.assign(stride(), 0);
  gradients_.assign(stride(), 0);
  std::vector<std::int64_t> dying(graph_.op_count() +
                                  1);  // gradients, and what is always kept, by their last use
  for (const OpId op : graph_.ops()) {
    for (const TensorId tensor : graph_.outputs(op)) {
      if (op.value >= forward_ || always_kept(op, tensor))
        dying[last_use(tensor)] += graph_.bytes(tensor).count();
    }
  }
  // What the reversal of a layer or of one before reads of it, by the layer. It stays from the former to the
  // latter.
  std::vector<std::int64_t> read(stride());
  std::vector<bool> counted(graph_.tensor_count());
  std::int64_t live = dying.back();
  Layer layer = 0;
  for (auto op = static_cast<Stage>(graph_.op_count()); op-- > forward_;) {
    for (; layer < layer_[op]; ++layer) {
      live -= read[layer];
      gradients_[layer] = live;
    }
    live += dying[op];
    for (const TensorId tensor : graph_.inputs(OpId{op})) {
      if (graph_.resident(tensor) || graph_.producer(tensor)->value >= forward_) continue;
      const OpId maker = *graph_.producer(tensor);
      if (of(maker) < layer || always_kept(maker, tensor) || counted[tensor.index()]) continue;
      counted[tensor.index()] = true;
      read[of(maker)] += graph_.bytes(tensor).count();
      live += graph_.bytes(tensor).count();
    }
    reverse_peak_[layer] = std::max(reverse_peak_[layer], live + graph_.workspace(OpId{op}).count());
    for (const TensorId tensor : graph_.outputs(OpId{op})) live -= graph_.bytes(tensor).count();
  }
  for (; layer <= length_; ++layer) {
    live -= read[layer];
    gradients_[layer] = live;
  }
}

}  // namespace checkmate
