#include <checkmate/c.h>
#include <inttypes.h>
#include <stdio.h>

/* A plan and addresses for its tensors: one line per run, with what is freed after it.
 *
 *     plan_graph 'zoo:unet?batch=32' 60%
 */

static int fail(char* message) {
  fprintf(stderr, "%s\n", message != NULL ? message : "not enough memory");
  checkmate_free(message);
  return 1;
}

static int show_progress(const checkmate_progress* progress, void* out) {
  if (progress->cost != CHECKMATE_NONE)
    fprintf(out, "%.2f s: %" PRId64 "\n", progress->seconds, progress->cost);
  return 0; /* 1 would end the search */
}

static void print_plan(const checkmate_graph* graph, const checkmate_result* result) {
  const checkmate_ids steps = checkmate_result_steps(result);
  for (size_t step = 0; step < steps.size; ++step) {
    const checkmate_text op = checkmate_graph_op_name(graph, steps.data[step]);
    printf("run %.*s\n", (int)op.size, op.data);
    const checkmate_ids freed = checkmate_result_frees(result, step);
    for (size_t i = 0; i < freed.size; ++i) {
      const checkmate_text tensor = checkmate_graph_tensor_name(graph, freed.data[i]);
      printf("  free %.*s\n", (int)tensor.size, tensor.data);
    }
  }
}

static int print_addresses(const checkmate_graph* graph, const checkmate_result* result) {
  checkmate_layout_options options;
  checkmate_layout_options_init(&options, sizeof(options));
  options.time_limit = 1;
  checkmate_layout* layout = NULL;
  char* message = NULL;
  if (checkmate_lay_out(graph, result, &options, &layout, &message) != CHECKMATE_OK) return fail(message);
  size_t count = 0;
  const checkmate_block* blocks = checkmate_layout_blocks(layout, &count);
  for (size_t i = 0; i < count; ++i)
    printf("steps %" PRIu32 " to %" PRIu32 ": %" PRId64 " bytes at %" PRId64 "\n", blocks[i].first,
           blocks[i].last - 1, blocks[i].size, blocks[i].offset);
  printf("all in %" PRId64 " bytes\n", checkmate_layout_size(layout));
  checkmate_layout_free(layout);
  return 0;
}

static int plan(const checkmate_graph* graph, const char* budget) {
  char* message = NULL;
  checkmate_solve_options options;
  checkmate_solve_options_init(&options, sizeof(options));
  if (checkmate_graph_budget(graph, budget, &options.budget, &message) != CHECKMATE_OK) return fail(message);
  options.time_limit = 2;
  options.on_progress = show_progress;
  options.user_data = stderr;
  checkmate_result* result = NULL;
  if (checkmate_solve(graph, &options, &result, &message) != CHECKMATE_OK) return fail(message);

  int exit_code = 1;
  if (checkmate_result_steps(result).size == 0) {
    fprintf(stderr, "%s\n", checkmate_result_detail(result));
  } else {
    print_plan(graph, result);
    exit_code = print_addresses(graph, result);
  }
  checkmate_result_free(result);
  return exit_code;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: plan_graph GRAPH BUDGET\n");
    return 2;
  }
  checkmate_graph* graph = NULL;
  char* message = NULL;
  if (checkmate_graph_load(argv[1], &graph, &message) != CHECKMATE_OK) return fail(message);
  const int exit_code = plan(graph, argv[2]);
  checkmate_graph_free(graph);
  return exit_code;
}
