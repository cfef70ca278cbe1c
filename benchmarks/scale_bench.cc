// How loading, simulating and validating grow with the graph, up to a million ops: seconds, file size and
// peak memory. Usage: scale_bench [OPS...]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "checkmate/checkmate.h"

namespace {

using namespace checkmate;

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Bytes peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Bytes{usage.ru_maxrss} * 1024;
}

template <class T>
T require(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "scale_bench: {}\n", result.error().message);
  std::exit(1);
}

void measure(std::size_t ops, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "graph.json";
  {
    const std::string json =
        graph_to_json(require(zoo::build(fmt::format("random_dag?n={}&features=full", ops))));
    if (!write_file(file, json)) std::exit(1);
  }
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
  Graph graph = require(zoo::build("linear"));
  const double load = seconds([&] { graph = require(read_graph(file)); });
  Plan plan;
  const double frees = seconds([&] { plan = keep_all_plan(graph); });
  Simulation simulation;
  const double simulating = seconds([&] { simulation = require(simulate(graph, plan)); });
  std::size_t violations = 0;
  const double validating = seconds([&] { violations = validate(graph, plan, simulation.peak).size(); });
  if (violations != 0) std::exit(1);
  fmt::print("{:>9} {:>9} {:>10} {:>8.3f} {:>8.3f} {:>9.3f} {:>9.3f} {:>10}\n", graph.op_count(),
             graph.edge_count(), to_string(Bytes{size}), load, frees, simulating, validating,
             to_string(peak_memory()));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {1'000, 10'000, 100'000, 1'000'000};
  std::string name = (std::filesystem::temp_directory_path() / "checkmate-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return 1;
  fmt::print("{:>9} {:>9} {:>10} {:>8} {:>8} {:>9} {:>9} {:>10}\n", "ops", "edges", "file", "load s",
             "frees s", "simulate", "validate", "peak mem");
  for (const std::size_t ops : sizes) measure(ops, name);
  std::filesystem::remove_all(name);
  return 0;
}
