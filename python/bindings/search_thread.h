#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "bindings.h"

namespace checkmate::python {

/// Runs a search on a thread of its own while the calling thread attends to Python. The search never touches
/// Python: what it wants of Python is done here, one job at a time, with the GIL held for no longer than
/// that. So other Python threads go on, callbacks come on the thread that asked for the search, and signals
/// are handled.
///
///     calling thread   run() --------- job --- signals? --- job ------ the answer, or the first exception
///     search's thread        search ... call() waits ......... post() ... ends
///
/// The first exception of a job, or of a signal's handler, stops the search and is thrown once it has ended.
/// After Ctrl-C, the answer may be worth more than the exception: see run().
class SearchThread {
 public:
  using Job = std::function<void()>;

  /// `on_tick`, where it is not None, is called a few times a second while nothing else happens. It outlives
  /// this.
  explicit SearchThread(const nb::object& on_tick);
  ~SearchThread();
  SearchThread(const SearchThread&) = delete;
  SearchThread& operator=(const SearchThread&) = delete;

  /// Stops all searches, of daemon threads too, and waits for them: Python is about to end, and a thread
  /// that asks for it afterwards would be ended in the middle of our code.
  static void stop_all();

  /// From any thread of the search: the job is done soon. It must not own Python objects.
  void post(Job job) { enqueue({std::move(job), nullptr}); }
  /// The same, in place of an earlier one that has not begun: only the newest is worth a slow callback's
  /// time.
  void post_newest(Job job);
  /// From any thread of the search: returns when the job is done; false where it was not, or not to its end.
  bool call(Job job);

  /// On the calling thread, with the GIL. `worth_having` decides whether the answer of a search that a single
  /// KeyboardInterrupt has stopped is to be returned; otherwise, and at a second one, the interrupt is
  /// thrown.
  template <class Search, class WorthHaving>
  auto run(Search search, WorthHaving worth_having) {
    std::optional<decltype(search(std::stop_token()))> answer;
    std::exception_ptr broken;
    {
      const std::jthread searcher = start_thread([&] {
        try {
          answer.emplace(search(stop_.get_token()));
        } catch (...) {
          broken = std::current_exception();
        }
        finish();
      });
      attend();
    }
    if (interrupts_ == 1 && !thrown_ && answer && worth_having(*answer)) return std::move(*answer);
    for (const std::exception_ptr& exception : {thrown_, interrupt_, broken}) {
      if (exception) std::rethrow_exception(exception);
    }
    return std::move(*answer);
  }

 private:
  static std::jthread start_thread(std::function<void()> work);

  struct Request {
    Job job;
    std::optional<bool>* done;  ///< null where no thread waits
    bool replaceable = false;   ///< by a newer one
  };

  void enqueue(Request request);
  void finish();
  void attend();
  std::vector<Request> wait(bool& finished);
  bool perform(const Job& job);
  void tick();
  void handle_signals();
  enum class Kind { kInterrupt, kOther };
  void keep(Kind kind, std::exception_ptr exception);

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> requests_;
  bool finished_ = false;

  // Used by the calling thread only.
  const nb::object& on_tick_;
  std::exception_ptr thrown_, interrupt_;
  int interrupts_ = 0;
};

}  // namespace checkmate::python
