#include "foreground.h"

#include <chrono>

namespace checkmate::python {

Foreground::Foreground() = default;

void Foreground::enqueue(Request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  changed_.notify_all();
}

bool Foreground::call(Job job) {
  std::optional<bool> done;
  enqueue({std::move(job), &done});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done.has_value(); });
  return *done;
}

void Foreground::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
}

void Foreground::attend() {
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
    handle_signals();
  }
}

std::vector<Foreground::Request> Foreground::wait(bool& finished) {
  using namespace std::chrono_literals;
  constexpr auto kSignalPoll = 50ms;
  const nb::gil_scoped_release unlocked;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kSignalPoll, [&] { return finished_ || !requests_.empty(); });
  finished = finished_;
  return std::exchange(requests_, {});
}

bool Foreground::perform(const Job& job) {
  if (thrown_ || interrupt_) return false;
  try {
    job();
    return true;
  } catch (nb::python_error& exception) {
    keep(std::move(exception));
    return false;
  }
}

void Foreground::handle_signals() {
  if (PyErr_CheckSignals() != 0) keep(nb::python_error());
}

void Foreground::keep(nb::python_error exception) {
  stop_.request_stop();
  if (exception.matches(PyExc_KeyboardInterrupt)) {
    ++interrupts_;
    if (!interrupt_) interrupt_.emplace(std::move(exception));
  } else if (!thrown_) {
    thrown_.emplace(std::move(exception));
  }
}

void Foreground::rethrow() {
  if (thrown_) throw *std::exchange(thrown_, std::nullopt);
  if (interrupt_) throw *std::exchange(interrupt_, std::nullopt);
}

}  // namespace checkmate::python
