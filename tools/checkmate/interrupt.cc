#include "interrupt.h"

#include <csignal>
#include <ctime>
#include <system_error>

namespace checkmate::tool {
namespace {

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interrupt::Interrupt() {
  // Blocked here and so in every thread started from here: only the watcher takes them, outside of any
  // handler.
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    watch();
  } catch (const std::system_error&) {  // no thread to be had: Ctrl-C ends the program, as it does elsewhere
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  }
}

void Interrupt::watch() {
  watcher_ = std::jthread([search = search_](const std::stop_token& done) mutable {
    const sigset_t watched = watched_signals();
    const timespec poll{.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!done.stop_requested() && sigtimedwait(&watched, nullptr, &poll) < 0) {
    }
    if (done.stop_requested()) return;
    search.request_stop();
    pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
  });
}

Interrupt::~Interrupt() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace checkmate::tool
