#include "search_thread.h"

#include <unistd.h>

#include <chrono>
#include <set>
#include <system_error>

namespace checkmate::python {
namespace {

using namespace std::chrono_literals;

/// The searches of this process. A fork begins with its parent's, which do not run in it.
struct Running {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::pair<pid_t, std::stop_source*>> searches;
  bool closed = false;

  bool any_here() const {
    const auto first = searches.lower_bound({::getpid(), nullptr});
    return first != searches.end() && first->first == ::getpid();
  }
};

Running& running() {
  static Running searches;
  return searches;
}

}  // namespace

SearchThread::SearchThread(const nb::object& on_tick) : on_tick_(on_tick) {
  Running& all = running();
  const std::lock_guard lock(all.mutex);
  all.searches.emplace(::getpid(), &stop_);
  if (all.closed) stop_.request_stop();
}

SearchThread::~SearchThread() {
  Running& all = running();
  const std::lock_guard lock(all.mutex);
  all.searches.erase({::getpid(), &stop_});
  all.changed.notify_all();
}

void SearchThread::stop_all() {
  const nb::gil_scoped_release unlocked;
  Running& all = running();
  std::unique_lock lock(all.mutex);
  all.closed = true;
  if (!all.any_here()) return;
  nb::set_leak_warnings(false);  // what the threads hold is theirs until the process ends
  for (const auto& [process, stop] : all.searches) {
    if (process == ::getpid()) stop->request_stop();
  }
  all.changed.wait(lock, [&] { return !all.any_here(); });
}

std::jthread SearchThread::start_thread(std::function<void()> work) {
  try {
    return std::jthread(std::move(work));
  } catch (const std::system_error&) {
    throw Raised{{ErrorCode::kIo, "the system gives no thread for the search; see ulimit -u and ulimit -v"}};
  }
}

void SearchThread::enqueue(Request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  changed_.notify_all();
}

void SearchThread::post_newest(Job job) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(requests_, [](const Request& request) { return request.replaceable; });
  }
  enqueue({std::move(job), nullptr, true});
}

bool SearchThread::call(Job job) {
  std::optional<bool> done;
  enqueue({std::move(job), &done});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done.has_value(); });
  return *done;
}

void SearchThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
}

void SearchThread::attend() {
  for (bool finished = false; !finished;) {
    for (const Request& request : wait(finished)) {
      const bool done = perform(request.job);
      if (request.done == nullptr) continue;
      {
        const std::lock_guard lock(mutex_);
        *request.done = done;
      }
      changed_.notify_all();
    }
    if (!finished) tick();
    handle_signals();
  }
}

std::vector<SearchThread::Request> SearchThread::wait(bool& finished) {
  constexpr auto kSignalPoll = 50ms;
  const nb::gil_scoped_release unlocked;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kSignalPoll, [&] { return finished_ || !requests_.empty(); });
  finished = finished_;
  return std::exchange(requests_, {});
}

bool SearchThread::perform(const Job& job) {
  if (thrown_ || interrupt_) return false;
  try {
    job();
    return true;
  } catch (nb::python_error& exception) {
    keep(exception.matches(PyExc_KeyboardInterrupt) ? Kind::kInterrupt : Kind::kOther,
         std::current_exception());
  } catch (...) {
    keep(Kind::kOther, std::current_exception());
  }
  return false;
}

void SearchThread::tick() {
  if (!on_tick_.is_none()) perform([&] { on_tick_(); });
}

void SearchThread::handle_signals() {
  if (PyErr_CheckSignals() == 0) return;
  const nb::python_error exception;
  keep(exception.matches(PyExc_KeyboardInterrupt) ? Kind::kInterrupt : Kind::kOther,
       std::make_exception_ptr(exception));
}

void SearchThread::keep(Kind kind, std::exception_ptr exception) {
  stop_.request_stop();
  interrupts_ += kind == Kind::kInterrupt ? 1 : 0;
  std::exception_ptr& first = kind == Kind::kInterrupt ? interrupt_ : thrown_;
  if (!first) first = std::move(exception);
}

}  // namespace checkmate::python
