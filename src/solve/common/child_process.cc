#include "solve/common/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <type_traits>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace checkmate {
namespace {

constexpr std::string_view kCancelled = "stopped before it had an answer";

/// What the child says: how far it is or, as its last word, its outcome.
struct Message {
  bool last = false;
  std::vector<OpId> steps = {};
  std::int64_t stage_bound = -1;  // none
  std::int64_t sufficient = -1;
  std::int32_t stop_reason = -1;
  std::string detail = {};
};

/// Plain values and arrays of them, one after the other: both ends are the same program.
class Packet {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <class List>
  void put_list(const List& list) {
    put(list.size());
    bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(*list.data()));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string packed(const Message& message) {
  Packet packet;
  packet.put(message.last);
  packet.put(message.stage_bound);
  packet.put(message.sufficient);
  packet.put(message.stop_reason);
  packet.put_list(message.steps);
  packet.put_list(message.detail);
  Packet whole;
  whole.put_list(packet.bytes());
  return whole.bytes();
}

class Unpacking {
 public:
  explicit Unpacking(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  template <class List>
  List get_list() {
    List list;
    list.resize(get<std::size_t>());
    const std::size_t size = list.size() * sizeof(*list.data());
    if (size != 0) std::memcpy(list.data(), bytes_.data(), size);  // an empty list may have no data
    bytes_.remove_prefix(size);
    return list;
  }

 private:
  std::string_view bytes_;
};

Message unpacked(std::string_view bytes) {
  Unpacking from(bytes);
  Message message;
  message.last = from.get<bool>();
  message.stage_bound = from.get<std::int64_t>();
  message.sufficient = from.get<std::int64_t>();
  message.stop_reason = from.get<std::int32_t>();
  message.steps = from.get_list<std::vector<OpId>>();
  message.detail = from.get_list<std::string>();
  return message;
}

void send(int pipe, const Message& message) {
  const std::string bytes = packed(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t written = ::write(pipe, bytes.data() + sent, bytes.size() - sent);
    if (written < 0 && errno != EINTR) ::_exit(1);  // nobody listens any more
    sent += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
}

Message message_of(const Outcome& outcome) {
  Message message{.last = true, .steps = outcome.steps.value_or(std::vector<OpId>())};
  if (outcome.stage_lower_bound) message.stage_bound = outcome.stage_lower_bound->count();
  if (outcome.sufficient) message.sufficient = outcome.sufficient->count();
  if (outcome.stop_reason) message.stop_reason = static_cast<std::int32_t>(*outcome.stop_reason);
  message.detail = outcome.detail;
  return message;
}

/// All that the child does; it never returns to the caller's code.
[[noreturn]] void work(const SearchContext& search, const Incumbent& known, const Method& method, int pipe) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  ::signal(SIGPIPE, SIG_IGN);
  try {
    SolveOptions options = search.options;
    options.on_progress = [&](const Progress& progress) {
      Message message;
      if (const std::optional<Plan> plan = progress.plan()) message.steps = plan->steps;
      if (progress.stage_bound) message.stage_bound = progress.stage_bound->count();
      send(pipe, message);
    };
    const SearchContext own_search = search.with_options(options);
    Incumbent own(own_search);
    own.take_over(known);
    send(pipe, message_of(method(own_search, own)));
    ::_exit(0);
  } catch (...) {
    ::_exit(1);
  }
}

/// Ends the child, if it has not ended, and waits for it.
class Child {
 public:
  Child(pid_t process, int pipe) : process_(process), pipe_(pipe) {}
  ~Child() {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::close(pipe_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next message; nothing when there is none for a while, or when the child has ended.
  std::optional<Message> next() {
    constexpr int kPatience = 20;  // milliseconds
    std::size_t size = 0;
    if (received_.size() >= sizeof(size)) std::memcpy(&size, received_.data(), sizeof(size));
    const bool whole = received_.size() >= sizeof(size) && received_.size() - sizeof(size) >= size;
    if (whole) {
      Message message = unpacked(std::string_view(received_).substr(sizeof(size), size));
      received_.erase(0, sizeof(size) + size);
      return message;
    }
    pollfd ready{.fd = pipe_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kPatience) <= 0) return std::nullopt;
    constexpr std::size_t kBlock = 65536;
    std::array<char, kBlock> block{};
    const ssize_t count = ::read(pipe_, block.data(), block.size());
    ended_ = count == 0 || (count < 0 && errno != EINTR);
    received_.append(block.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return std::nullopt;
  }
  bool ended() const { return ended_; }

 private:
  pid_t process_;
  int pipe_;
  std::string received_;
  bool ended_ = false;
};

/// Takes what the child has found; its outcome, once that is there.
std::optional<Outcome> take(Incumbent& incumbent, Message message) {
  const std::string_view method = incumbent.search().options.method;  // outlives the outcome
  if (!message.steps.empty()) incumbent.offer(std::move(message.steps), method);
  if (message.stage_bound >= 0) incumbent.raise_stage_bound(Cost{message.stage_bound}, method);
  if (message.sufficient >= 0) incumbent.note_peak(Bytes{message.sufficient});
  if (!message.last) return std::nullopt;
  Outcome outcome = incumbent.outcome();
  outcome.detail = std::move(message.detail);
  if (message.stop_reason >= 0) outcome.stop_reason = static_cast<StopReason>(message.stop_reason);
  return outcome;
}

}  // namespace

Outcome run_in_child(const SearchContext& search, Incumbent& incumbent, const Method& method) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return method(search, incumbent);
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    work(search, incumbent, method, ends[1]);
  }
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return method(search, incumbent);
  }
  Child child(process, ends[0]);
  while (!search.stopped() && !child.ended()) {
    std::optional<Message> message = child.next();
    if (!message) continue;
    if (std::optional<Outcome> outcome = take(incumbent, std::move(*message))) return std::move(*outcome);
  }
  Outcome outcome = incumbent.outcome();
  if (child.ended() && !search.stopped()) {
    outcome.detail = "HiGHS ended without an answer; memory may have run out";
  } else if (!outcome.steps) {
    outcome.detail = kCancelled;
  }
  return outcome;
}

}  // namespace checkmate
