#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "checkmate/solve.h"
#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"

namespace checkmate::tool {
namespace {

struct Flags {
  std::string function;
  std::string budgets;
  std::string reserve = "0";
  std::string order = "fixed";
  double time_limit = 1;
  int threads = SolveOptions{}.threads;
  std::int64_t seed = static_cast<std::int64_t>(SolveOptions{}.seed);
  std::string report;
  std::string graph;
  bool json = false;
};

/// What the interpreter runs. Without the package it says so in a line of ours.
constexpr const char* kHandOver = R"(
import importlib.util, sys
if importlib.util.find_spec('checkmate') is None:
    sys.exit(f'checkmate: {sys.executable} does not find the package checkmate: install it, set PYTHONPATH '
             'to its folder, or name another interpreter in CHECKMATE_PYTHON')
from checkmate.__main__ import estimate
estimate(sys.argv[1:])
)";

/// As python/checkmate/torch/command.py takes them.
std::vector<std::string> words(const Flags& flags) {
  std::vector<std::string> words = {flags.function,
                                    "--reserve=" + flags.reserve,
                                    "--order=" + flags.order,
                                    fmt::format("--time-limit={}", flags.time_limit),
                                    fmt::format("--threads={}", flags.threads),
                                    fmt::format("--seed={}", flags.seed)};
  for (const auto& [name, value] : {std::pair("budgets", flags.budgets), std::pair("report", flags.report),
                                    std::pair("graph", flags.graph)}) {
    if (!value.empty()) words.push_back(fmt::format("--{}={}", name, value));
  }
  if (flags.json) words.emplace_back("--json");
  return words;
}

/// Models are Python's: this process becomes an interpreter, whose exit code, signals and output are its own.
Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(folder_is_there(flags.report));
  CHECKMATE_TRY(folder_is_there(flags.graph));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes it
  const char* const chosen = std::getenv("CHECKMATE_PYTHON");
  std::vector<std::string> command = {chosen != nullptr ? chosen : "python3", "-c", kHandOver};
  for (std::string& word : words(flags)) command.push_back(std::move(word));
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const std::string why = std::generic_category().message(errno);
  return Error{ErrorCode::kIo,
               fmt::format("cannot run {}: {}; name a Python interpreter that has the package checkmate and "
                           "PyTorch in CHECKMATE_PYTHON",
                           in_quotes(command.front()), why)};
}

}  // namespace

void add_torch(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("torch", "Tells what training a PyTorch model takes, without running a step",
                         [flags] { return run(*flags); });
  verb.example("checkmate torch train:example --reserve 2GiB --report estimate.html");
  verb.argument("FUNCTION", flags->function,
                "MODULE:NAME of a Python function that returns the model, the loss function and a batch");
  verb.option(
      "--budgets", flags->budgets,
      "sizes, shares and ranges such as 90%..20%:5%, separated by commas; by default from 100% in steps of "
      "10% down to the least budget");
  verb.option("--reserve", flags->reserve, "other memory to leave free, such as the state of an optimizer");
  verb.choice("--order", flags->order, {"fixed", "free"},
              "fixed: first runs keep the graph's order; free: they may move");
  verb.option("--time-limit", flags->time_limit, "seconds for each budget");
  verb.option("--threads", flags->threads, "maximum number of threads");
  verb.option("--seed", flags->seed, "seed of the random numbers");
  verb.option("--report", flags->report, "write an HTML report to this file");
  verb.option("--graph", flags->graph, "write the graph to this file, for the other verbs");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
