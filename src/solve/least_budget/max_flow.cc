#include "solve/least_budget/max_flow.h"

#include <algorithm>

namespace checkmate {

MaxFlow::Edge MaxFlow::add_edge(Node from, Node to) {
  edges_.emplace_back(from, to);
  capacity_.push_back(0);
  return static_cast<Edge>(edges_.size() - 1);
}

/// Edges by the node where they begin, each of them there and, backwards, at its end.
void MaxFlow::sort_edges() {
  Node nodes = 0;
  for (const auto& [from, to] : edges_) nodes = std::max({nodes, from + 1, to + 1});
  first_.assign(nodes + std::size_t{1}, 0);
  for (const auto& [from, to] : edges_) {
    ++first_[from + 1];
    ++first_[to + 1];
  }
  for (Node node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
  std::vector<std::uint32_t> end(first_.begin(), first_.end() - 1);
  halves_.resize(2 * edges_.size());
  left_.resize(halves_.size());
  place_.resize(edges_.size());
  for (Edge edge = 0; edge < edges_.size(); ++edge) {
    const auto [from, to] = edges_[edge];
    const std::uint32_t there = end[from]++;
    const std::uint32_t back = end[to]++;
    halves_[there] = {to, back};
    halves_[back] = {from, there};
    place_[edge] = there;
  }
  level_.resize(nodes);
  next_.resize(nodes);
}

std::int64_t MaxFlow::find(Node source, Node sink, std::int64_t enough) {
  if (halves_.empty()) sort_edges();
  std::fill(left_.begin(), left_.end(), 0);
  for (Edge edge = 0; edge < edges_.size(); ++edge) left_[place_[edge]] = capacity_[edge];
  std::int64_t flow = 0;
  while (flow < enough && find_levels(source, sink)) {
    next_.assign(first_.begin(), first_.end() - 1);
    while (flow < enough) {
      const std::int64_t pushed = push(source, sink, enough - flow);
      if (pushed == 0) break;
      flow += pushed;
    }
  }
  return flow;
}

/// Distances from the source, until the sink has one.
bool MaxFlow::find_levels(Node source, Node sink) {
  constexpr std::uint32_t kFar = UINT32_MAX;
  std::fill(level_.begin(), level_.end(), kFar);
  queue_.assign(1, source);
  level_[source] = 0;
  for (std::size_t head = 0; head < queue_.size() && level_[sink] == kFar; ++head) {
    const Node node = queue_[head];
    for (std::uint32_t half = first_[node]; half < first_[node + 1]; ++half) {
      const Node to = halves_[half].to;
      if (left_[half] == 0 || level_[to] != kFar) continue;
      level_[to] = level_[node] + 1;
      queue_.push_back(to);
    }
  }
  return level_[sink] != kFar;
}

/// One way from the source to the sink, each step one level on. Ways that lead nowhere are not tried twice.
std::int64_t MaxFlow::push(Node source, Node sink, std::int64_t most) {
  way_.clear();
  Node node = source;
  while (node != sink) {
    std::uint32_t& half = next_[node];
    while (half < first_[node + 1] && (left_[half] == 0 || level_[halves_[half].to] != level_[node] + 1))
      ++half;
    if (half < first_[node + 1]) {
      way_.push_back(half);
      node = halves_[half].to;
      continue;
    }
    if (way_.empty()) return 0;
    node = halves_[halves_[way_.back()].back].to;
    ++next_[node];
    way_.pop_back();
  }
  for (const std::uint32_t half : way_) most = std::min(most, left_[half]);
  for (const std::uint32_t half : way_) {
    left_[half] -= most;
    left_[halves_[half].back] += most;
  }
  return most;
}

}  // namespace checkmate
