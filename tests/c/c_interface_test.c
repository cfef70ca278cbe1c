/* The interface for C, from C99. `c_interface_test NAME` runs one test; without a name, it lists them. */
#include <checkmate/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

static const checkmate_ids no_ids = {NULL, 0};

static uint32_t add_tensor(checkmate_builder* builder, const char* name, int64_t bytes, unsigned flags) {
  uint32_t id = UINT32_MAX;
  CHECK(checkmate_builder_add_tensor(builder, name, bytes, flags, &id, NULL) == CHECKMATE_OK);
  return id;
}

static void add_op(checkmate_builder* builder, const char* name, int64_t cost, checkmate_ids inputs,
                   uint32_t output, checkmate_phase phase) {
  const checkmate_op op = {.struct_size = sizeof(checkmate_op),
                           .name = name,
                           .cost = cost,
                           .inputs = inputs,
                           .outputs = {&output, 1},
                           .phase = phase};
  CHECK(checkmate_builder_add_op(builder, &op, NULL, NULL) == CHECKMATE_OK);
}

/* Two layers of 8 bytes, a loss, and the backward pass, which reads the layers' outputs: a and b are alive at
   the loss, a, b and grad b in back 2. */
static checkmate_graph* two_layers(void) {
  checkmate_builder* builder = checkmate_builder_new("two layers", "ns");
  const uint32_t weight = add_tensor(builder, "weight", 1, CHECKMATE_RESIDENT);
  const uint32_t a = add_tensor(builder, "a", 8, 0);
  const uint32_t b = add_tensor(builder, "b", 8, 0);
  const uint32_t loss = add_tensor(builder, "loss", 1, CHECKMATE_OUTPUT);
  const uint32_t grad_b = add_tensor(builder, "grad b", 8, 0);
  const uint32_t grad = add_tensor(builder, "grad", 1, CHECKMATE_OUTPUT);
  const uint32_t to_back_1[] = {a, grad_b};
  add_op(builder, "layer 1", 30, (checkmate_ids){&weight, 1}, a, CHECKMATE_FORWARD);
  add_op(builder, "layer 2", 50, (checkmate_ids){&a, 1}, b, CHECKMATE_FORWARD);
  add_op(builder, "loss", 1, (checkmate_ids){&b, 1}, loss, CHECKMATE_LOSS);
  add_op(builder, "back 2", 90, (checkmate_ids){&b, 1}, grad_b, CHECKMATE_BACKWARD);
  add_op(builder, "back 1", 60, (checkmate_ids){to_back_1, 2}, grad, CHECKMATE_BACKWARD);
  checkmate_graph* graph = NULL;
  char* message = NULL;
  CHECK(checkmate_builder_build(builder, &graph, &message) == CHECKMATE_OK);
  CHECK(message == NULL);
  checkmate_builder_free(builder);
  return graph;
}

static checkmate_solve_options options_for(int64_t budget) {
  checkmate_solve_options options;
  checkmate_solve_options_init(&options, sizeof(options));
  options.budget = budget;
  return options;
}

static checkmate_result* solved(const checkmate_graph* graph, const checkmate_solve_options* options) {
  checkmate_result* result = NULL;
  char* message = NULL;
  const checkmate_code code = checkmate_solve(graph, options, &result, &message);
  if (message != NULL) fprintf(stderr, "%s\n", message);
  CHECK(code == CHECKMATE_OK);
  return result;
}

static int text_is(checkmate_text text, const char* expected) {
  return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

/* The code, and what the message must say. */
static void check_failure(checkmate_code code, checkmate_code expected, char* message, const char* part) {
  CHECK(code == expected);
  CHECK(message != NULL && strstr(message, part) != NULL);
  checkmate_free(message);
}

static void builds_a_graph(void) {
  checkmate_graph* graph = two_layers();
  CHECK(checkmate_graph_op_count(graph) == 5);
  CHECK(checkmate_graph_tensor_count(graph) == 6);
  CHECK(text_is(checkmate_graph_op_name(graph, 3), "back 2"));
  CHECK(text_is(checkmate_graph_tensor_name(graph, 4), "grad b"));
  CHECK(checkmate_graph_tensor_bytes(graph, 4) == 8);
  CHECK(checkmate_graph_op_inputs(graph, 4).size == 2);
  CHECK(checkmate_graph_op_inputs(graph, 4).data[1] == 4);
  CHECK(checkmate_graph_op_outputs(graph, 4).data[0] == 5);
  CHECK(checkmate_graph_keep_all_cost(graph) == 30 + 50 + 1 + 90 + 60);
  CHECK(checkmate_graph_fixed_bytes(graph) == 1);
  CHECK(checkmate_graph_op_name(graph, 5).size == 0);
  CHECK(checkmate_graph_tensor_bytes(graph, 6) == CHECKMATE_NONE);
  checkmate_graph_free(graph);
}

/* Keep-all has a 8, b 8, loss 1, grad b 8 and the weight 1 in back 2: 26. Without a it is 18 there; layer 1
   runs again for 30 more, and back 1 has a, grad b, loss, grad and the weight: 8 + 8 + 1 + 1 + 1 = 19. */
static void recomputes_within_the_budget(void) {
  checkmate_graph* graph = two_layers();
  const checkmate_solve_options options = options_for(19);
  checkmate_result* result = solved(graph, &options);
  CHECK(checkmate_result_status(result) == CHECKMATE_OPTIMAL);
  CHECK(checkmate_result_stop_reason(result) == CHECKMATE_STOP_GAP_CLOSED);
  CHECK(checkmate_result_cost(result) == 231 + 30);
  CHECK(checkmate_result_lower_bound(result) == 231 + 30);
  CHECK(checkmate_result_peak(result) == 19);
  CHECK(strlen(checkmate_result_method(result)) > 0);
  const checkmate_ids steps = checkmate_result_steps(result);
  CHECK(steps.size == 6);
  size_t frees = 0;
  for (size_t step = 0; step < steps.size; ++step) frees += checkmate_result_frees(result, step).size;
  CHECK(frees == 4); /* a twice, b and grad b; outputs stay */
  CHECK(checkmate_result_frees(result, steps.size).size == 0);
  checkmate_result_free(result);
  checkmate_graph_free(graph);
}

static void tells_what_does_not_fit(void) {
  checkmate_graph* graph = two_layers();
  const checkmate_solve_options options = options_for(10);
  checkmate_result* result = solved(graph, &options);
  CHECK(checkmate_result_status(result) == CHECKMATE_INFEASIBLE);
  CHECK(checkmate_result_stop_reason(result) == CHECKMATE_STOP_INFEASIBLE);
  CHECK(checkmate_result_steps(result).size == 0);
  CHECK(checkmate_result_cost(result) == CHECKMATE_NONE);
  CHECK(checkmate_result_peak(result) == CHECKMATE_NONE);
  CHECK(checkmate_result_needed(result) > 10);
  CHECK(strlen(checkmate_result_detail(result)) > 0);
  checkmate_layout_options layout_options;
  checkmate_layout_options_init(&layout_options, sizeof(layout_options));
  checkmate_layout* layout = NULL;
  char* message = NULL;
  const checkmate_code code = checkmate_lay_out(graph, result, &layout_options, &layout, &message);
  check_failure(code, CHECKMATE_INVALID_PLAN, message, "no plan");
  checkmate_result_free(result);
  checkmate_graph_free(graph);
}

static void lays_out_the_plan(void) {
  checkmate_graph* graph = two_layers();
  const checkmate_solve_options options = options_for(19);
  checkmate_result* result = solved(graph, &options);
  checkmate_layout_options layout_options;
  checkmate_layout_options_init(&layout_options, sizeof(layout_options));
  layout_options.alignment = 1;
  checkmate_layout* layout = NULL;
  CHECK(checkmate_lay_out(graph, result, &layout_options, &layout, NULL) == CHECKMATE_OK);
  size_t count = 0;
  const checkmate_block* blocks = checkmate_layout_blocks(layout, &count);
  CHECK(count == 6); /* one output for each step */
  const checkmate_ids steps = checkmate_result_steps(result);
  for (size_t i = 0; i < count; ++i) {
    CHECK(blocks[i].first == i && blocks[i].first < blocks[i].last);
    CHECK(blocks[i].tensor == checkmate_graph_op_outputs(graph, steps.data[i]).data[0]);
    CHECK(blocks[i].size == checkmate_graph_tensor_bytes(graph, blocks[i].tensor));
    CHECK(blocks[i].offset >= 0 && blocks[i].offset + blocks[i].size <= checkmate_layout_size(layout));
    for (size_t j = 0; j < i; ++j) {
      const int at_once = blocks[i].first < blocks[j].last && blocks[j].first < blocks[i].last;
      const int apart = blocks[i].offset + blocks[i].size <= blocks[j].offset ||
                        blocks[j].offset + blocks[j].size <= blocks[i].offset;
      CHECK(!at_once || apart);
    }
  }
  CHECK(checkmate_layout_peak(layout) == checkmate_result_peak(result) - 1); /* without the weight */
  CHECK(checkmate_layout_peak(layout) <= checkmate_layout_size(layout));
  checkmate_layout_free(layout);
  checkmate_result_free(result);
  checkmate_graph_free(graph);
}

static void loads_graphs(void) {
  checkmate_graph* graph = NULL;
  CHECK(checkmate_graph_load("zoo:linear?n=8", &graph, NULL) == CHECKMATE_OK);
  int64_t all = 0;
  int64_t half = 0;
  CHECK(checkmate_graph_budget(graph, "100%", &all, NULL) == CHECKMATE_OK);
  CHECK(checkmate_graph_budget(graph, "50%", &half, NULL) == CHECKMATE_OK);
  const int64_t fixed = checkmate_graph_fixed_bytes(graph);
  CHECK(half - fixed == (all - fixed) / 2);
  checkmate_graph_free(graph);

  char* message = NULL;
  checkmate_code code = checkmate_graph_load("nosuch.json", &graph, &message);
  check_failure(code, CHECKMATE_IO, message, "nosuch.json");
  code = checkmate_graph_parse("{", 1, &graph, &message);
  check_failure(code, CHECKMATE_INVALID_FILE, message, "graph");
}

static void tells_what_is_wrong(void) {
  char* message = NULL;
  checkmate_graph* graph = NULL;
  checkmate_builder* builder = checkmate_builder_new("wrong", "ns");
  const uint32_t nobody = 7;
  const uint32_t x = add_tensor(builder, "x", -4, 0);
  add_op(builder, "f", 1, (checkmate_ids){&nobody, 1}, x, CHECKMATE_FORWARD);
  checkmate_code code = checkmate_builder_build(builder, &graph, &message);
  check_failure(code, CHECKMATE_INVALID_GRAPH, message, "'x'");
  CHECK(graph == NULL);
  checkmate_builder_free(builder);

  graph = two_layers();
  checkmate_result* result = NULL;
  checkmate_solve_options options = options_for(19);
  options.method = "nosuch";
  code = checkmate_solve(graph, &options, &result, &message);
  check_failure(code, CHECKMATE_INVALID_ARGUMENT, message, "nosuch");
  code = checkmate_solve(NULL, &options, &result, &message);
  check_failure(code, CHECKMATE_INVALID_ARGUMENT, message, "graph is NULL");
  options.struct_size = 1000;
  code = checkmate_solve(graph, &options, &result, &message);
  check_failure(code, CHECKMATE_INVALID_ARGUMENT, message, "struct_size is 1000");
  CHECK(result == NULL);
  checkmate_graph_free(graph);
}

/* A program that was compiled when options ended after the budget. */
static void takes_the_options_of_an_older_header(void) {
  struct {
    size_t struct_size;
    int64_t budget;
    char behind[64];
  } older;
  memset(&older, 'x', sizeof(older));
  const size_t size = offsetof(checkmate_solve_options, budget) + sizeof(int64_t);
  checkmate_solve_options_init((checkmate_solve_options*)(void*)&older, size);
  CHECK(older.behind[0] == 'x');
  older.budget = 19;
  checkmate_graph* graph = two_layers();
  checkmate_result* result = solved(graph, (const checkmate_solve_options*)(const void*)&older);
  CHECK(checkmate_result_status(result) == CHECKMATE_OPTIMAL);
  checkmate_result_free(result);
  checkmate_graph_free(graph);
}

static int stop_at_a_plan(const checkmate_progress* progress, void* calls) {
  ++*(int*)calls;
  return progress->cost != CHECKMATE_NONE;
}

/* Annealing has no bound to meet and would take its minute. */
static void stops_when_asked(void) {
  checkmate_graph* graph = NULL;
  CHECK(checkmate_graph_load("zoo:unet?batch=1", &graph, NULL) == CHECKMATE_OK);
  int64_t budget = 0;
  CHECK(checkmate_graph_budget(graph, "60%", &budget, NULL) == CHECKMATE_OK);
  int calls = 0;
  checkmate_solve_options options = options_for(budget);
  options.method = "anneal";
  options.gap = 0;
  options.on_progress = stop_at_a_plan;
  options.user_data = &calls;
  checkmate_result* result = solved(graph, &options);
  CHECK(calls >= 1);
  CHECK(checkmate_result_stop_reason(result) == CHECKMATE_STOP_CANCELLED);
  CHECK(checkmate_result_steps(result).size > 0);
  CHECK(checkmate_result_seconds(result) < 30);
  checkmate_result_free(result);

  checkmate_cancel* cancel = checkmate_cancel_new();
  checkmate_cancel_request(cancel);
  options.on_progress = NULL;
  options.cancel = cancel;
  result = solved(graph, &options);
  CHECK(checkmate_result_stop_reason(result) == CHECKMATE_STOP_CANCELLED);
  CHECK(checkmate_result_seconds(result) < 30);
  checkmate_result_free(result);
  checkmate_cancel_free(cancel);
  checkmate_graph_free(graph);
}

static void reads_null_as_empty(void) {
  checkmate_builder_free(NULL);
  checkmate_graph_free(NULL);
  checkmate_result_free(NULL);
  checkmate_layout_free(NULL);
  checkmate_cancel_free(NULL);
  checkmate_free(NULL);
  CHECK(checkmate_graph_op_count(NULL) == 0);
  CHECK(checkmate_result_steps(NULL).size == no_ids.size);
  CHECK(checkmate_result_status(NULL) == CHECKMATE_UNKNOWN);
  CHECK(checkmate_result_cost(NULL) == CHECKMATE_NONE);
  CHECK(strcmp(checkmate_result_detail(NULL), "") == 0);
  size_t count = 1;
  checkmate_layout_blocks(NULL, &count);
  CHECK(count == 0);
}

static void has_the_version_of_its_header(void) {
  char version[64];
  snprintf(version, sizeof(version), "%d.%d.%d", CHECKMATE_VERSION_MAJOR, CHECKMATE_VERSION_MINOR,
           CHECKMATE_VERSION_PATCH);
  CHECK(strcmp(version, CHECKMATE_VERSION) == 0);
  CHECK(strcmp(checkmate_version(), CHECKMATE_VERSION) == 0);
}

#define TEST(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*run)(void);
} tests[] = {TEST(builds_a_graph),
             TEST(recomputes_within_the_budget),
             TEST(tells_what_does_not_fit),
             TEST(lays_out_the_plan),
             TEST(loads_graphs),
             TEST(tells_what_is_wrong),
             TEST(takes_the_options_of_an_older_header),
             TEST(stops_when_asked),
             TEST(reads_null_as_empty),
             TEST(has_the_version_of_its_header)};

int main(int argc, char** argv) {
  int ran = 0;
  for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
    if (argc < 2) puts(tests[i].name);
    if (argc < 2 || strcmp(argv[1], tests[i].name) != 0) continue;
    tests[i].run();
    ran = 1;
  }
  return argc < 2 || ran ? 0 : 2;
}
