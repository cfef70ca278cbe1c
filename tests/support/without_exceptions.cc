#include <checkmate/checkmate.h>

#include <chrono>
#include <cstdio>

// Built with -fno-exceptions and -fno-rtti, as compilers are: all headers, a graph, a search, an answer.

using namespace checkmate;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

/// x -> a -> b -> y, where y reads x as well. Keep-all holds x, a and b at once.
Result<Graph> late_use() {
  GraphBuilder builder("late use");
  const auto add = [&](const char* name, std::vector<TensorId> inputs, std::int64_t bytes) {
    return builder.add_op_with_output(
        {.name = name, .cost = Cost{1}, .inputs = std::move(inputs), .outputs = {}}, Bytes{bytes});
  };
  const TensorId x = add("x", {}, 10);
  const TensorId b = add("b", {add("a", {x}, 20)}, 20);
  add("y", {b, x}, 10);
  return std::move(builder).build();
}

}  // namespace

int main() {
  const Result<Graph> graph = late_use();
  if (!graph) return fail(graph.error());
  SolveOptions options{.budget = Bytes{40}};  // 10 less than keep-all's 10 + 20 + 20
  options.time_limit = std::chrono::seconds(10);
  options.threads = 2;
  int reports = 0;
  options.on_progress = [&](const Progress&) { ++reports; };
  const Result<SolveResult> result = solve(*graph, options);
  if (!result) return fail(result.error());
  if (!result->plan || reports == 0) return fail({ErrorCode::kInternal, "no plan, or no report"});
  const Result<SolveResult> refused = solve(*graph, {.budget = Bytes{0}});
  if (refused) return fail({ErrorCode::kInternal, "a budget of 0 bytes is accepted"});
  std::printf("%s: cost %lld, peak %s\n", std::string(to_string(result->status)).c_str(),
              static_cast<long long>(result->cost->count()), to_string(*result->peak).c_str());
  return 0;
}
