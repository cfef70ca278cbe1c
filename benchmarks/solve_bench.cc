// Plans and bounds of the methods on a set of instances, against published figures and our own floor: cost,
// gap, and the times to get there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "checkmate/checkmate.h"
#include "experiments/public_graphs.h"
#include "table.h"

namespace checkmate::bench {
namespace {

constexpr std::string_view kUsage =
    "solve_bench --set SET[,SET...] [options]\n"
    "  --set           public, mac (or paper), chain, free, scale\n"
    "  --graphs DIR    the public graphs (docs/public_graphs.md), for the sets public and free\n"
    "  --methods a,b   by default auto\n"
    "  --seeds 1,2,3\n"
    "  --time-limit S  seconds per solve, by default 10\n"
    "  --threads N     threads per solve, by default 2\n"
    "  --milp-seconds S  for the paper's MILP in the set mac; by default 300, 0 to leave it out\n"
    "  --csv FILE      one line per run\n"
    "  --markdown FILE one table per set; by default on the standard output\n";

struct Arguments {
  std::vector<std::string> sets;
  std::filesystem::path graphs;
  std::vector<std::string> methods = {"auto"};
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  double time_limit = 10;
  int threads = 2;
  double milp_seconds = 300;
  std::string csv;
  std::string markdown;
};

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    parts.emplace_back(part);
    if (part.size() == text.size()) return parts;
    text.remove_prefix(part.size() + 1);
  }
}

template <class Number>
Result<void> read(std::string_view text, Number least, Number& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole_text = failure == std::errc() && end == text.data() + text.size();
  if (whole_text && number >= least) return {};
  return wrong(fmt::format("must be {} or more, got '{}'", least, text));
}

/// All of the names must be known.
template <class Known>
Result<void> read_names(std::string_view text, const Known& known, std::vector<std::string>& names) {
  names = split(text);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return wrong(fmt::format("unknown '{}'; known are {}", name, fmt::join(known, ", ")));
  }
  return {};
}

Result<void> read_sets(std::string_view text, std::vector<std::string>& sets) {
  std::vector<std::string_view> known(set_names().begin(), set_names().end());
  known.emplace_back("paper");
  Result<void> done = read_names(text, known, sets);
  std::replace(sets.begin(), sets.end(), std::string("paper"), std::string("mac"));
  return done;
}

Result<void> read_methods(std::string_view text, std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const MethodInfo& method : methods()) known.push_back(method.name);
  return read_names(text, known, names);
}

Result<void> read_seeds(std::string_view text, std::vector<std::uint64_t>& seeds) {
  seeds.clear();
  for (const std::string& part : split(text)) {
    if (Result<void> done = read<std::uint64_t>(part, 0, seeds.emplace_back()); !done) return done;
  }
  return {};
}

Result<Arguments> parse(std::span<char*> words) {
  Arguments arguments;
  constexpr double kShortest = 1e-3;
  const std::map<std::string_view, std::function<Result<void>(std::string_view)>> options = {
      {"--set", [&](std::string_view text) { return read_sets(text, arguments.sets); }},
      {"--graphs", [&](std::string_view text) { return arguments.graphs = text, Result<void>(); }},
      {"--methods", [&](std::string_view text) { return read_methods(text, arguments.methods); }},
      {"--seeds", [&](std::string_view text) { return read_seeds(text, arguments.seeds); }},
      {"--time-limit", [&](std::string_view text) { return read(text, kShortest, arguments.time_limit); }},
      {"--threads", [&](std::string_view text) { return read(text, 1, arguments.threads); }},
      {"--milp-seconds", [&](std::string_view text) { return read(text, 0.0, arguments.milp_seconds); }},
      {"--csv", [&](std::string_view text) { return arguments.csv = text, Result<void>(); }},
      {"--markdown", [&](std::string_view text) { return arguments.markdown = text, Result<void>(); }},
  };
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto option = options.find(words[i]);
    if (option == options.end()) return wrong(fmt::format("unknown option '{}'\n{}", words[i], kUsage));
    if (i + 1 == words.size()) return wrong(fmt::format("{} needs a value", words[i]));
    if (const Result<void> done = option->second(words[i + 1]); !done) return done.error().at(words[i]);
  }
  if (arguments.sets.empty()) return wrong(fmt::format("--set is required\n{}", kUsage));
  return arguments;
}

/// What to run on an instance, the rival last.
std::vector<How> program(const Arguments& arguments, const Instance& instance) {
  std::vector<How> hows;
  for (const std::string& method : arguments.methods) {
    for (const std::uint64_t seed : arguments.seeds) {
      hows.push_back({.method = method,
                      .seed = seed,
                      .time_limit = std::chrono::duration<double>(arguments.time_limit),
                      .threads = arguments.threads});
    }
  }
  const bool asked_for = std::count(arguments.methods.begin(), arguments.methods.end(), "milp") > 0;
  if (instance.against_milp && !asked_for && arguments.milp_seconds > 0) {
    hows.push_back({.method = "milp",
                    .seed = arguments.seeds.front(),
                    .time_limit = std::chrono::duration<double>(arguments.milp_seconds),
                    .threads = arguments.threads});
  }
  return hows;
}

Result<Measured> measure_all(const Arguments& arguments, const Instance& instance) {
  Result<Graph> graph = load(instance, arguments.graphs);
  if (!graph) return graph.error();
  const Result<Bytes> budget = parse_budget(*graph, instance.budget);
  if (!budget) return budget.error();
  const Problem problem{instance, std::move(*graph), *budget};
  Measured measured{.instance = instance,
                    .ops = problem.graph.op_count(),
                    .budget = *budget,
                    .keep_all_cost = problem.graph.keep_all_cost(),
                    .runs = {}};
  for (const How& how : program(arguments, instance)) {
    Result<Run> run = measure(problem, how);
    if (!run) return run.error();
    const SolveResult& result = run->result;
    fmt::print(stderr, "{} {} {} seed {}: {}, {:.1f} s\n", instance.name, instance.budget, how.method,
               how.seed,
               result.plan ? fmt::format("{:.6f}x, gap {:.3f}%", overhead(problem.graph, *result.cost),
                                         100 * relative_gap(*result.cost, result.lower_bound))
                           : std::string(to_string(result.status)),
               result.seconds);
    measured.runs.push_back(std::move(*run));
  }
  return measured;
}

std::string markdown(const Arguments& arguments, const std::vector<Measured>& measured) {
  std::string text = fmt::format("`solve()` for at most {} s on {} threads, seeds {}.\n\n",
                                 arguments.time_limit, arguments.threads, fmt::join(arguments.seeds, ", "));
  for (const std::string& set : arguments.sets) {
    std::vector<Measured> members;
    std::copy_if(measured.begin(), measured.end(), std::back_inserter(members),
                 [&](const Measured& one) { return one.instance.set == set; });
    if (!members.empty()) text += summary_table(set, members).markdown() + "\n";
  }
  return text;
}

Result<void> write(const Arguments& arguments, const std::vector<Measured>& measured) {
  if (!arguments.csv.empty()) {
    if (Result<void> done = write_file(arguments.csv, runs_table(measured).csv()); !done) return done;
  }
  return arguments.markdown.empty() ? Result<void>()
                                    : write_file(arguments.markdown, markdown(arguments, measured));
}

Result<void> run(std::span<char*> words) {
  if (words.size() == 1 && std::string_view(words[0]) == "--help") {
    fmt::print("{}", kUsage);
    return {};
  }
  const Result<Arguments> arguments = parse(words);
  if (!arguments) return arguments.error();
  if (!arguments->graphs.empty()) {
    if (Result<void> checked = experiments::check_public_graphs(arguments->graphs); !checked) return checked;
  }
  std::vector<Measured> measured;
  for (const std::string& set : arguments->sets) {
    for (const Instance& instance : instances_of(set)) {
      Result<Measured> one = measure_all(*arguments, instance);
      if (!one) return one.error();
      measured.push_back(std::move(*one));
      // After each instance, so that a run of hours can be read, and ended, at any time.
      if (Result<void> done = write(*arguments, measured); !done) return done;
    }
  }
  if (arguments->markdown.empty()) fmt::print("{}", markdown(*arguments, measured));
  return {};
}

}  // namespace
}  // namespace checkmate::bench

int main(int argc, char** argv) {
  const auto fail = [](std::string_view why) { return fmt::print(stderr, "solve_bench: {}\n", why), 1; };
  try {
    const auto words = std::span(argv, static_cast<std::size_t>(argc)).subspan(1);
    const checkmate::Result<void> done = checkmate::bench::run(words);
    return done ? 0 : fail(done.error().message);
  } catch (const std::exception& bug) {  // solve() refuses a plan or a bound of its own
    return fail(bug.what());
  }
}
