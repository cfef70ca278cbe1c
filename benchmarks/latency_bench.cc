// How soon searches end: the time from a request to stop, at a random moment, to the answer, and by how much
// limits of time are overrun. One Markdown line per graph and method, the worst of some runs each.
// With --memory, what the program says when its address space is limited: one line per limit.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "checkmate/checkmate.h"

namespace checkmate::bench {
namespace {

constexpr std::string_view kUsage =
    "latency_bench [--runs N] [--budget B] GRAPH...\n"
    "latency_bench --memory PROGRAM [--budget B] GRAPH...\n"
    "  --runs     searches per method that are stopped, and as many that run out of time, by default 10\n"
    "  --budget   by default 40%\n"
    "  --memory   run `PROGRAM solve` in 60 to 600 MB instead\n";

using Clock = std::chrono::steady_clock;
constexpr double kLongest = 2;  // seconds before a search is stopped

struct Arguments {
  int runs = 10;
  std::string budget = "40%";
  std::string program;
  std::vector<std::string> graphs;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The time from the request to the answer; 0 where the search had ended by itself.
double cancel_latency(const Graph& graph, const SolveOptions& options, double when) {
  std::stop_source stop;
  Clock::time_point asked = Clock::now() + std::chrono::hours(1);
  const std::jthread canceller([&](const std::stop_token& over) {
    const Clock::time_point start = Clock::now();
    while (!over.stop_requested() && seconds_since(start) < when)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    asked = Clock::now();
    stop.request_stop();
  });
  const Result<SolveResult> result = solve(graph, options, stop.get_token());
  if (!result) fmt::print(stderr, "{}: {}\n", options.method, result.error().message);
  return result && stop.stop_requested() ? seconds_since(asked) : 0;
}

double overrun(const Graph& graph, SolveOptions options, double limit) {
  options.time_limit = std::chrono::duration<double>(limit);
  const Clock::time_point start = Clock::now();
  const Result<SolveResult> result = solve(graph, options);
  if (!result) fmt::print(stderr, "{}: {}\n", options.method, result.error().message);
  return std::max(0.0, seconds_since(start) - limit);
}

void measure(const Graph& graph, Bytes budget, int runs) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> moment(0, kLongest);
  for (const MethodInfo& method : methods()) {
    SolveOptions options{.budget = budget, .method = std::string(method.name)};
    options.threads = 2;
    double latest = 0;
    double longest = 0;
    for (int run = 0; run < runs; ++run) {
      options.seed = static_cast<std::uint64_t>(run) + 1;
      latest = std::max(latest, cancel_latency(graph, options, moment(random)));
      longest = std::max(longest, overrun(graph, options, moment(random) + 0.01));
    }
    fmt::print("| {} | {} | {:.3f} | {:.3f} |\n", graph.name(), method.name, latest, longest);
    std::fflush(stdout);
  }
}

/// What the program printed, and how it ended.
std::string run_limited(const std::vector<std::string>& command, rlim_t bytes) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t process = ::fork();
  if (process == 0) {
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t count = 0; (count = ::read(ends[0], block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  const std::string ended = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                : fmt::format("exit {}", WEXITSTATUS(status));
  if (text.find("overhead") != std::string::npos) {
    const std::size_t because = text.find("because");
    return ended + ": a plan" +
           (because == std::string::npos ? ""
                                         : ", " + text.substr(because, text.find('\n', because) - because));
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return ended + ": " + text.substr(0, 300);
}

void measure_memory(const Arguments& arguments, const std::string& graph) {
  constexpr rlim_t kStep = 60'000'000;
  constexpr rlim_t kMost = 600'000'000;
  for (rlim_t bytes = kStep; bytes <= kMost; bytes += kStep) {
    fmt::print("| {} | {} MB | {} |\n", graph, bytes / 1'000'000,
               run_limited({arguments.program, "solve", graph, "--budget", arguments.budget, "--time-limit",
                            "5", "--threads", "4"},
                           bytes));
    std::fflush(stdout);
  }
}

Result<Arguments> read(std::vector<std::string> words) {
  Arguments arguments;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool last = at + 1 == words.size();
    if (words[at] == "--runs" && !last) {
      const std::string& number = words[++at];
      std::from_chars(number.data(), number.data() + number.size(), arguments.runs);
    } else if (words[at] == "--budget" && !last) {
      arguments.budget = words[++at];
    } else if (words[at] == "--memory" && !last) {
      arguments.program = words[++at];
    } else {
      arguments.graphs.push_back(words[at]);
    }
  }
  if (arguments.graphs.empty()) return Error{ErrorCode::kInvalidArgument, std::string(kUsage)};
  return arguments;
}

Result<void> run(const Arguments& arguments) {
  fmt::print("{}", arguments.program.empty()
                       ? "| graph | method | stopped, s | over the limit, s |\n|---|---|---|---|\n"
                       : "| graph | address space | answer |\n|---|---|---|\n");
  for (const std::string& name : arguments.graphs) {
    if (!arguments.program.empty()) {
      measure_memory(arguments, name);
      continue;
    }
    const Result<Graph> graph = load_graph(name);
    if (!graph) return graph.error();
    const Result<Bytes> budget = parse_budget(*graph, arguments.budget);
    if (!budget) return budget.error();
    measure(*graph, *budget, arguments.runs);
  }
  return {};
}

}  // namespace
}  // namespace checkmate::bench

int main(int argc, char** argv) {
  using namespace checkmate;
  const Result<bench::Arguments> arguments = bench::read({argv + 1, argv + argc});
  const Result<void> done = arguments ? bench::run(*arguments) : arguments.error();
  if (!done) fmt::print(stderr, "{}\n", done.error().message);
  return done ? 0 : 1;
}
