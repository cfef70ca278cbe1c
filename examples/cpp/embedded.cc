#include <checkmate/checkmate.h>

#include <chrono>
#include <iostream>
#include <thread>

// A planner inside of another program: it cancels, keeps what is known while the budget changes, reads costs,
// and handles what can fail. Nothing here needs exceptions.
//
//     embedded 'zoo:unet?batch=32'

namespace {

using namespace checkmate;

/// `Cost` counts whole units of the graph's cost unit; overhead() is what to show to people.
void print(const Graph& graph, const SolveResult& result) {
  std::cout << to_string(result.status) << ", stopped by " << describe(result.stop_reason) << "\n";
  if (!result.cost) {  // without a plan there is neither cost nor peak
    std::cout << "  " << result.detail << "\n";
    return;
  }
  const std::int64_t more = (*result.cost - graph.keep_all_cost()).count();
  std::cout << "  " << more << " " << graph.cost_unit() << " more than running each op once, "
            << overhead(graph, *result.cost) << "x; at least " << overhead(graph, result.lower_bound)
            << "x\n";
}

int fail(const Error& error) {
  std::cerr << error.message << "\n";
  return error.code == ErrorCode::kInternal ? 2 : 1;  // ours, or the caller's
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return fail({ErrorCode::kInvalidArgument, "usage: embedded GRAPH"});
  const Result<Graph> graph = load_graph(argv[1]);
  if (!graph) return fail(graph.error());
  const Result<Bytes> roomy = parse_budget(*graph, "80%");
  const Result<Bytes> tight = parse_budget(*graph, "60%");
  if (!roomy || !tight) return fail((roomy ? tight : roomy).error());

  SolveOptions options{.budget = *roomy};
  options.threads = 2;
  // A report can be asked for the plan, and can end the search: here, once a plan is 2% from the bound.
  options.on_progress = [](const Progress& progress) {
    if (!progress.cost || !progress.bound) return;
    if (relative_gap(*progress.cost, *progress.bound) > 0.02) return;
    std::cout << progress.plan()->steps.size() << " steps are enough\n";
    progress.stop();
  };

  // Another thread cancels through a token; solve() returns the best plan so far.
  std::stop_source cancel;
  const std::jthread watchdog([cancel](const std::stop_token& done) mutable {
    for (int tenths = 0; tenths < 50 && !done.stop_requested(); ++tenths)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancel.request_stop();
  });

  // A Planner starts each search from the plans that it knows, and keeps the bounds that still hold.
  Planner planner(*graph, options);
  const Result<SolveResult> first = planner.solve(cancel.get_token());
  if (!first) return fail(first.error());
  print(planner.graph(), *first);
  planner.set_budget(*tight);
  const Result<SolveResult> second = planner.solve(cancel.get_token());
  if (!second) return fail(second.error());
  print(planner.graph(), *second);

  // The same by hand: SolveOptions::start, which is ignored where it does not fit.
  if (!second->plan) return 0;
  options.start = second->plan->steps;
  options.time_limit = std::chrono::seconds(1);
  const Result<SolveResult> third = solve(*graph, options);
  if (!third) return fail(third.error());
  print(*graph, *third);
}
