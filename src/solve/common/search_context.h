#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "checkmate/solve.h"

namespace checkmate {

/// What a method sees of its caller: the graph, the options, the clock and the token that may stop it.
class SearchContext {
 public:
  using Clock = std::chrono::steady_clock;
  SearchContext(const Graph& search_graph, const SolveOptions& search_options, std::stop_token stop)
      : graph(search_graph),
        options(search_options),
        stop_(std::move(stop)),
        end_(search_options.time_limit.count()),
        moves_(search_options.moves) {}

  const Graph& graph;
  const SolveOptions& options;

  /// The same search, on the same clock, that another token can stop.
  SearchContext with_stop(std::stop_token stop) const {
    SearchContext other = *this;
    other.stop_ = std::move(stop);
    return other;
  }
  /// The same search, on the same clock, with other options; they must outlive it.
  SearchContext with_options(const SolveOptions& others) const {
    SearchContext other(graph, others, stop_);
    other.start_ = start_;
    other.end_ = end_;
    return other;
  }
  /// The same search for a share of what is left of its time, or of all its moves.
  SearchContext part(double share) const {
    SearchContext other = *this;
    other.end_ = seconds() + share * seconds_left();
    if (moves_ > 0) {
      const auto moves = static_cast<std::uint64_t>(share * static_cast<double>(moves_));
      other.moves_ = std::max(moves, std::uint64_t{1});
    }
    return other;
  }

  bool stopped() const { return stop_.stop_requested() || seconds_left() <= 0; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds_left() const { return end_ - seconds(); }
  double end() const { return end_; }             ///< in seconds()
  std::uint64_t moves() const { return moves_; }  ///< of annealing; 0: no limit
  bool by_moves() const { return moves_ > 0; }    ///< then nothing may depend on the clock
  const std::stop_token& stop_token() const { return stop_; }
  /// Reports a plan within the budget to the caller.
  void tell(Cost cost) const {
    if (options.on_progress) options.on_progress({seconds(), cost, std::nullopt, options.method});
  }

 private:
  std::stop_token stop_;
  Clock::time_point start_ = Clock::now();
  double end_;
  std::uint64_t moves_;
};

}  // namespace checkmate
