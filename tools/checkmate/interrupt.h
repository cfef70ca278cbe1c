#pragma once

#include <stop_token>
#include <thread>

namespace checkmate::tool {

/// While it lives, Ctrl-C (and SIGTERM) asks the search to stop instead of ending the program; a second one
/// ends it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return search_.get_token(); }

 private:
  std::stop_source search_;
  std::jthread watcher_;
};

}  // namespace checkmate::tool
