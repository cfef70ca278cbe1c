#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>

#include "checkmate/solve.h"
#include "solve/common/reporter.h"

namespace checkmate {

/// What a method sees of its caller: the graph, the options, the clock and the token that may stop it.
class SearchContext {
 public:
  using Clock = std::chrono::steady_clock;
  SearchContext(const Graph& search_graph, const SolveOptions& search_options, std::stop_token stop)
      : SearchContext(search_graph, search_options, std::move(stop), std::stop_source(std::nostopstate)) {}
  /// A callback can stop `cancel`.
  SearchContext(const Graph& search_graph, const SolveOptions& search_options, std::stop_token stop,
                std::stop_source cancel)
      : graph(search_graph),
        options(search_options),
        stop_(std::move(stop)),
        reporter_(std::make_shared<Reporter>(search_options.on_progress, std::move(cancel))),
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
  /// Tells the caller, where it listens, what `look` sees; `steps` are those of the best plan. Late reports
  /// are dropped.
  template <class Look>
  void report(std::function<std::vector<OpId>()> steps, const Look& look) const {
    if (!stopped()) reporter_->report(graph, std::move(steps), look);
  }
  void report_last(std::function<std::vector<OpId>()> steps, const Progress& progress) const {
    reporter_->report_last(graph, std::move(steps), progress);
  }

 private:
  std::stop_token stop_;
  std::shared_ptr<Reporter> reporter_;
  Clock::time_point start_ = Clock::now();
  double end_;
  std::uint64_t moves_;
};

}  // namespace checkmate
