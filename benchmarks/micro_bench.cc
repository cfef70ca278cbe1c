// The inner loops, one by one, on graphs of several sizes. micro_bench --benchmark_filter=Simulate picks
// some.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <map>

#include "checkmate/checkmate.h"
#include "solve/anneal/recomputations.h"

namespace checkmate::bench {
namespace {

struct Case {
  Graph graph;
  Plan plan;  ///< with recomputations, where the graph has a backward phase
};

struct NamedGraph {
  std::string_view name;
  std::string_view zoo;
};
constexpr std::array kGraphs = {NamedGraph{"unet", "unet?batch=32"},
                                NamedGraph{"resnet50", "resnet50?batch=256"},
                                NamedGraph{"random_layered_1000", "random_layered?n=1000"},
                                NamedGraph{"gpt2_xl", "gpt2?size=xl"},
                                NamedGraph{"resnet_10033", "resnet?depth=152&repeat=10"},
                                NamedGraph{"random_dag_100000", "random_dag?n=100000&features=full"}};

/// Built when a benchmark first asks for it.
const Case& case_of(const NamedGraph& named) {
  static std::map<std::string_view, Case> cases;
  const auto known = cases.find(named.name);
  if (known != cases.end()) return known->second;
  Graph graph = zoo::build(named.zoo).value();
  const Bytes budget = graph.fixed_bytes() + keep_all_peak(graph);
  const SolveResult checkpointed = solve(graph, {.budget = budget, .method = "linear-sqrt"}).value();
  Plan plan = checkpointed.plan ? *checkpointed.plan : keep_all_plan(graph);
  return cases.emplace(named.name, Case{std::move(graph), std::move(plan)}).first->second;
}

void count_steps(benchmark::State& state, const Case& on) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(on.plan.steps.size()));
}

void simulate_plan(benchmark::State& state, const NamedGraph& named) {
  const Case& on = case_of(named);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(on.graph, on.plan)->peak);
  count_steps(state, on);
}

void find_tightest_frees(benchmark::State& state, const NamedGraph& named) {
  const Case& on = case_of(named);
  for (auto _ : state) benchmark::DoNotOptimize(tightest_frees(on.graph, on.plan.steps)->step_count());
  count_steps(state, on);
}

void validate_plan(benchmark::State& state, const NamedGraph& named) {
  const Case& on = case_of(named);
  const Bytes budget = on.graph.fixed_bytes() + keep_all_peak(on.graph);
  for (auto _ : state) benchmark::DoNotOptimize(validate(on.graph, on.plan, budget).size());
  count_steps(state, on);
}

/// Recomputations that annealing may try, half of them in the state: each is put in or taken out.
class Recomputing {
 public:
  explicit Recomputing(const Graph& graph)
      : graph_(graph, graph.fixed_bytes() + Bytes{keep_all_peak(graph).count() / 2}), state_(graph_) {
    Random random(1);
    while (runs_.size() < kRuns) {
      const auto stage = static_cast<Stage>(1 + random.below(graph_.ops - 1));
      const auto op = static_cast<std::uint32_t>(random.below(stage));
      if (!graph_.recomputable[op] || state_.contains({stage, op})) continue;
      runs_.emplace_back(stage, op);
      state_.insert(runs_.back());
    }
  }
  double toggle() {
    const Run run = runs_[next_++ % kRuns];
    if (state_.contains(run)) {
      state_.erase(run);
    } else {
      state_.insert(run);
    }
    return state_.overflow();
  }

 private:
  static constexpr std::size_t kRuns = 256;
  SearchGraph graph_;
  Recomputations state_;
  std::vector<Run> runs_;
  std::size_t next_ = 0;
};

void insert_and_erase(benchmark::State& state, const NamedGraph& named) {
  Recomputing recomputing(case_of(named).graph);
  for (auto _ : state) benchmark::DoNotOptimize(recomputing.toggle());
  state.SetItemsProcessed(state.iterations());
}

struct Measure {
  std::string_view name;
  void (*run)(benchmark::State& state, const NamedGraph& named);
};
/// Each runs on every graph, as NAME/GRAPH. A new inner loop is a function above and a line here.
constexpr std::array kMeasures = {
    Measure{"BM_Simulate", simulate_plan}, Measure{"BM_TightestFrees", find_tightest_frees},
    Measure{"BM_InsertAndErase", insert_and_erase}, Measure{"BM_Validate", validate_plan}};

}  // namespace
}  // namespace checkmate::bench

int main(int argc, char** argv) {
  using namespace checkmate::bench;
  for (const Measure& measure : kMeasures) {
    for (const NamedGraph& named : kGraphs) {
      benchmark::RegisterBenchmark(fmt::format("{}/{}", measure.name, named.name).c_str(), measure.run, named)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
