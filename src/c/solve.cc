#include "c/boundary.h"
#include "c/handles.h"

namespace {

using namespace checkmate;
using namespace checkmate::c;

static_assert(CHECKMATE_UNKNOWN == static_cast<int>(Status::kUnknown));
static_assert(CHECKMATE_STOP_EXHAUSTED == static_cast<int>(StopReason::kExhausted));
static_assert(CHECKMATE_STOP_PATIENCE == static_cast<int>(StopReason::kPatience));

checkmate_solve_options default_options() {
  const SolveOptions ours;
  checkmate_solve_options options{};
  options.struct_size = sizeof(options);
  options.method = "auto";
  options.time_limit = ours.time_limit.count();
  options.threads = ours.threads;
  options.seed = ours.seed;
  options.gap = ours.gap;
  return options;
}

Result<SolveOptions> options_of(const checkmate_solve_options& theirs) {
  CHECKMATE_TRY(given(theirs.method, "the options' method"));
  CHECKMATE_TRY(std::vector<OpId> start, ids<OpId>(theirs.start, "the options' start"));
  SolveOptions options{.budget = Bytes{theirs.budget}, .method = theirs.method};
  options.order = theirs.free_order != 0 ? Order::kFree : Order::kFixed;
  options.time_limit = std::chrono::duration<double>(theirs.time_limit);
  options.threads = theirs.threads;
  options.seed = theirs.seed;
  options.gap = theirs.gap;
  options.moves = theirs.moves;
  options.start = std::move(start);
  return options;
}

template <class Amount>
int64_t amount(const std::optional<Amount>& of) {
  return of ? of->count() : CHECKMATE_NONE;
}

void report(const Progress& progress, const checkmate_solve_options& options) {
  const std::string method(progress.method);
  const checkmate_progress theirs{.struct_size = sizeof(theirs),
                                  .seconds = progress.seconds,
                                  .cost = amount(progress.cost),
                                  .bound = amount(progress.bound),
                                  .method = method.c_str()};
  if (options.on_progress(&theirs, options.user_data) != 0) progress.stop();
}

}  // namespace

checkmate_cancel* checkmate_cancel_new(void) { return made<checkmate_cancel>(); }
void checkmate_cancel_free(checkmate_cancel* cancel) { delete cancel; }
void checkmate_cancel_request(checkmate_cancel* cancel) {
  if (cancel != nullptr) cancel->source.request_stop();
}

void checkmate_solve_options_init(checkmate_solve_options* options, size_t struct_size) {
  write_defaults(default_options(), options, struct_size);
}

checkmate_code checkmate_solve(const checkmate_graph* graph, const checkmate_solve_options* options,
                               checkmate_result** result, char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(graph, "graph"));
    CHECKMATE_TRY(given(result, "result"));
    CHECKMATE_TRY(const checkmate_solve_options theirs, read(options, "options", default_options()));
    CHECKMATE_TRY(SolveOptions ours, options_of(theirs));
    if (theirs.on_progress != nullptr)
      ours.on_progress = [&](const Progress& progress) { report(progress, theirs); };
    const std::stop_token stop =
        theirs.cancel == nullptr ? std::stop_token() : theirs.cancel->source.get_token();
    CHECKMATE_TRY(SolveResult found, solve(graph->graph, ours, stop));
    *result = new checkmate_result{std::move(found)};
    return {};
  });
}

void checkmate_result_free(checkmate_result* result) { delete result; }

checkmate_status checkmate_result_status(const checkmate_result* result) {
  return static_cast<checkmate_status>(or_empty(result).result.status);
}

checkmate_stop_reason checkmate_result_stop_reason(const checkmate_result* result) {
  return static_cast<checkmate_stop_reason>(or_empty(result).result.stop_reason);
}

const char* checkmate_result_detail(const checkmate_result* result) {
  return or_empty(result).result.detail.c_str();
}

const char* checkmate_result_method(const checkmate_result* result) {
  return or_empty(result).result.method.c_str();
}

int64_t checkmate_result_cost(const checkmate_result* result) { return amount(or_empty(result).result.cost); }

int64_t checkmate_result_peak(const checkmate_result* result) { return amount(or_empty(result).result.peak); }

int64_t checkmate_result_lower_bound(const checkmate_result* result) {
  return or_empty(result).result.lower_bound.count();
}

int64_t checkmate_result_needed(const checkmate_result* result) {
  return amount(or_empty(result).result.needed);
}

int64_t checkmate_result_sufficient(const checkmate_result* result) {
  return amount(or_empty(result).result.sufficient);
}

double checkmate_result_seconds(const checkmate_result* result) { return or_empty(result).result.seconds; }

checkmate_ids checkmate_result_steps(const checkmate_result* result) {
  const std::optional<Plan>& plan = or_empty(result).result.plan;
  return plan ? view(std::span<const OpId>(plan->steps)) : checkmate_ids{};
}

checkmate_ids checkmate_result_frees(const checkmate_result* result, size_t step) {
  const std::optional<Plan>& plan = or_empty(result).result.plan;
  return plan && step < plan->frees.step_count() ? view(plan->frees.after(step)) : checkmate_ids{};
}
