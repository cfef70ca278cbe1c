#pragma once

#include <stop_token>
#include <thread>

namespace checkmate::tool {

/// During its lifetime, Ctrl-C (or SIGTERM) stops the search instead of the program; a second one ends the
/// program.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return search_.get_token(); }

 private:
  void watch();

  std::stop_source search_;
  std::jthread watcher_;
};

}  // namespace checkmate::tool
