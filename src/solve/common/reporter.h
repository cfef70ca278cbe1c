#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include "checkmate/solve.h"

namespace checkmate {

/// What a report can be asked for while the caller looks at it.
struct Progress::Source {
  const Graph& graph;
  std::function<std::vector<OpId>()> steps;  ///< of the best plan; empty without one
  std::stop_source stop;
};

/// Calls the caller back, one call at a time. A slow callback must not hold up the search: a report that
/// comes while another is looked at is dropped, and so is one that comes sooner after it than that took. The
/// next report has all that the dropped ones had, and the last is never dropped.
class Reporter {
 public:
  using Clock = std::chrono::steady_clock;
  Reporter(std::function<void(const Progress&)> callback, std::stop_source stop)
      : callback_(std::move(callback)), stop_(std::move(stop)) {}

  /// `look` makes the report, where one is wanted: what it sees must only get better.
  template <class Look>
  void report(const Graph& graph, std::function<std::vector<OpId>()> steps, const Look& look) {
    if (!callback_) return;
    const std::unique_lock alone(mutex_, std::try_to_lock);
    if (alone && Clock::now() >= quiet_until_) call({graph, std::move(steps), stop_}, look());
  }
  void report_last(const Graph& graph, std::function<std::vector<OpId>()> steps, const Progress& progress) {
    if (!callback_) return;
    const std::lock_guard alone(mutex_);
    call({graph, std::move(steps), stop_}, progress);
  }

 private:
  void call(const Progress::Source& source, Progress progress) {
    progress.source = &source;
    const Clock::time_point start = Clock::now();
    callback_(progress);
    const Clock::time_point end = Clock::now();
    quiet_until_ = end + (end - start);
  }

  std::function<void(const Progress&)> callback_;
  std::stop_source stop_;
  std::mutex mutex_;
  Clock::time_point quiet_until_;
};

}  // namespace checkmate
