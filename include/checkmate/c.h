#ifndef CHECKMATE_C_H
#define CHECKMATE_C_H

/// The interface for C and for what speaks C: graphs, solve, plans and addresses. docs/c.md shows how it is
/// used.
///
/// - What can fail returns a checkmate_code. Its last argument, unless NULL, receives one line for people
///   where it fails, to be freed with checkmate_free(), and NULL where it does not. That nothing fits, or
///   that time ran out, is an answer: checkmate_result_status().
/// - Handles are made and freed in pairs; freeing NULL does nothing. What a function returns as a pointer
///   belongs to the handle that it was asked of, and lives as long. A NULL handle reads as an empty one.
/// - Graphs, results and layouts never change, and any number of threads may read them. A builder is for one
///   thread at a time.
/// - Structs that may get more members begin with their size. What was compiled with an older header runs
///   with a newer library of the same CHECKMATE_VERSION_MAJOR and _MINOR.

#include <stddef.h>  // NOLINT(modernize-deprecated-headers)
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

#include "checkmate/version.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming, modernize-use-using, modernize-redundant-void-arg): it is C

typedef enum {
  CHECKMATE_OK = 0,
  CHECKMATE_INVALID_ARGUMENT = 1,  ///< an option, a budget or a name that the caller wrote is wrong
  CHECKMATE_INVALID_FILE = 2,      ///< a file's text is not what its format asks for
  CHECKMATE_INVALID_GRAPH = 3,     ///< ops and tensors contradict one another
  CHECKMATE_INVALID_PLAN = 4,      ///< the plan cannot run on this graph
  CHECKMATE_IO = 5,                ///< the operating system refused
  CHECKMATE_TOO_LARGE = 6,         ///< past a limit that keeps memory bounded, or memory that ran out
  CHECKMATE_INTERNAL = 7           ///< a bug of ours
} checkmate_code;

/// An amount that there is not: amounts are never negative.
#define CHECKMATE_NONE ((int64_t)-1)

/// Text that does not end in 0: `printf("%.*s", (int)text.size, text.data)`.
typedef struct {
  const char* data;
  size_t size;
} checkmate_text;

/// Ids of ops or tensors.
typedef struct {
  const uint32_t* data;
  size_t size;
} checkmate_ids;

/// Of the library that is loaded. CHECKMATE_VERSION is that of the header.
const char* checkmate_version(void);
/// Frees a message.
void checkmate_free(char* message);

/* Graphs */

typedef struct checkmate_builder checkmate_builder;
typedef struct checkmate_graph checkmate_graph;

typedef enum {
  CHECKMATE_FORWARD = 0,
  CHECKMATE_LOSS = 1,
  CHECKMATE_BACKWARD = 2,
  CHECKMATE_UPDATE = 3
} checkmate_phase;

enum {
  CHECKMATE_RESIDENT = 1,  ///< always in memory, made by no op: a parameter, a buffer, the batch
  CHECKMATE_OUTPUT = 2     ///< stays in memory from its last run to the end: the loss, a gradient
};

/// Members that are 0 or NULL are the default.
typedef struct {
  size_t struct_size;  ///< sizeof(checkmate_op)
  const char* name;
  const char* kind;  ///< what it computes (`conv2d`, `matmul`, ...), for cost models and people
  int64_t cost;
  checkmate_ids inputs;
  checkmate_ids outputs;  ///< at least one
  int64_t workspace;      ///< bytes that are held only while the op runs
  checkmate_phase phase;
  int runs_once;  ///< not 0: is never recomputed (random numbers, collectives, side effects)
} checkmate_op;

/// A cost unit is what costs count: `ns`, `mac`, ... NULL where memory runs out.
checkmate_builder* checkmate_builder_new(const char* name, const char* cost_unit);
void checkmate_builder_free(checkmate_builder* builder);
/// Ids count up from 0 in the order of the calls. `flags` are CHECKMATE_RESIDENT, CHECKMATE_OUTPUT or 0. An
/// op may name tensors that are added later.
checkmate_code checkmate_builder_add_tensor(checkmate_builder* builder, const char* name, int64_t bytes,
                                            unsigned flags, uint32_t* id, char** message);
/// Ops run in the order of the calls.
checkmate_code checkmate_builder_add_op(checkmate_builder* builder, const checkmate_op* op, uint32_t* id,
                                        char** message);
/// Fixed memory that no tensor stands for (optimizer state, the framework's own); 0 at first.
checkmate_code checkmate_builder_set_reserved_bytes(checkmate_builder* builder, int64_t bytes,
                                                    char** message);
/// The graph, or what is wrong with it. Either way the builder can only be freed afterwards.
checkmate_code checkmate_builder_build(checkmate_builder* builder, checkmate_graph** graph, char** message);

/// A file, or `zoo:NAME?key=value&...`.
checkmate_code checkmate_graph_load(const char* argument, checkmate_graph** graph, char** message);
/// JSON of any of the formats of docs/file_formats.md.
checkmate_code checkmate_graph_parse(const char* json, size_t size, checkmate_graph** graph, char** message);
void checkmate_graph_free(checkmate_graph* graph);

size_t checkmate_graph_op_count(const checkmate_graph* graph);
size_t checkmate_graph_tensor_count(const checkmate_graph* graph);
/// Empty, or CHECKMATE_NONE, for an op or tensor that is not there.
checkmate_text checkmate_graph_op_name(const checkmate_graph* graph, uint32_t op);
checkmate_ids checkmate_graph_op_inputs(const checkmate_graph* graph, uint32_t op);
checkmate_ids checkmate_graph_op_outputs(const checkmate_graph* graph, uint32_t op);
checkmate_text checkmate_graph_tensor_name(const checkmate_graph* graph, uint32_t tensor);
int64_t checkmate_graph_tensor_bytes(const checkmate_graph* graph, uint32_t tensor);
/// The cost of running every op once: no plan is cheaper.
int64_t checkmate_graph_keep_all_cost(const checkmate_graph* graph);
/// Memory that is always in use: resident tensors and reserved bytes.
int64_t checkmate_graph_fixed_bytes(const checkmate_graph* graph);
/// `6GiB`, or a share of keep-all's peak such as `60%`, to which the fixed bytes are added.
checkmate_code checkmate_graph_budget(const checkmate_graph* graph, const char* text, int64_t* bytes,
                                      char** message);

/* Searches */

/// How another thread ends a search. Once asked, it ends every search that it is given to.
typedef struct checkmate_cancel checkmate_cancel;
checkmate_cancel* checkmate_cancel_new(void);
void checkmate_cancel_free(checkmate_cancel* cancel);
void checkmate_cancel_request(checkmate_cancel* cancel);

typedef struct {
  size_t struct_size;
  double seconds;
  int64_t cost;        ///< of the best plan so far, or CHECKMATE_NONE
  int64_t bound;       ///< no plan of the order is cheaper, or CHECKMATE_NONE
  const char* method;  ///< that found the plan or the bound; as long as the call
} checkmate_progress;
/// One call at a time, from any searching thread. Not 0: end the search, with the best plan so far.
typedef int (*checkmate_progress_callback)(const checkmate_progress* progress, void* user_data);

typedef struct {
  size_t struct_size;
  int64_t budget;       ///< for everything, the graph's fixed bytes included
  const char* method;   ///< `auto`, or another one of docs/methods.md
  int free_order;       ///< not 0: first runs may move, where the method can
  double time_limit;    ///< seconds; then the best plan so far is returned
  int threads;          ///< at most
  uint64_t seed;        ///< with one thread and a limit of moves, it determines the plan
  double gap;           ///< stop when the relative gap is at most this
  uint64_t moves;       ///< annealing: stop after this many; 0: no limit
  checkmate_ids start;  ///< the runs of a plan to start from
  checkmate_progress_callback on_progress;
  void* user_data;                 ///< for on_progress
  const checkmate_cancel* cancel;  ///< or NULL
} checkmate_solve_options;
/// Defaults, but no budget. `struct_size` is sizeof(checkmate_solve_options).
void checkmate_solve_options_init(checkmate_solve_options* options, size_t struct_size);

typedef enum {
  CHECKMATE_OPTIMAL = 0,     ///< a plan, and no plan of that order is cheaper
  CHECKMATE_FEASIBLE = 1,    ///< a plan within the budget
  CHECKMATE_INFEASIBLE = 2,  ///< proven: no plan of that order fits the budget
  CHECKMATE_UNKNOWN = 3      ///< no plan, and no proof that there is none
} checkmate_status;

typedef enum {
  CHECKMATE_STOP_GAP_CLOSED = 0,   ///< the plan is within the gap of the lower bound
  CHECKMATE_STOP_INFEASIBLE = 1,   ///< proven: there is nothing to find
  CHECKMATE_STOP_CANCELLED = 2,    ///< the caller asked for it
  CHECKMATE_STOP_TIME_LIMIT = 3,   ///< the time limit
  CHECKMATE_STOP_MOVES_LIMIT = 4,  ///< the limit of moves
  CHECKMATE_STOP_EXHAUSTED = 5,    ///< the method has done all that it does
  CHECKMATE_STOP_PATIENCE = 6      ///< no much cheaper plan was found for long enough
} checkmate_stop_reason;

typedef struct checkmate_result checkmate_result;
/// Finds a plan within the budget.
checkmate_code checkmate_solve(const checkmate_graph* graph, const checkmate_solve_options* options,
                               checkmate_result** result, char** message);
void checkmate_result_free(checkmate_result* result);

checkmate_status checkmate_result_status(const checkmate_result* result);
checkmate_stop_reason checkmate_result_stop_reason(const checkmate_result* result);
/// One sentence where the status needs an explanation, or empty.
const char* checkmate_result_detail(const checkmate_result* result);
/// That found the plan.
const char* checkmate_result_method(const checkmate_result* result);
int64_t checkmate_result_cost(const checkmate_result* result);         ///< of the plan
int64_t checkmate_result_peak(const checkmate_result* result);         ///< of the plan
int64_t checkmate_result_lower_bound(const checkmate_result* result);  ///< no plan of the order is cheaper
int64_t checkmate_result_needed(
    const checkmate_result* result);  ///< when infeasible: proven, in less none fits
int64_t checkmate_result_sufficient(
    const checkmate_result* result);  ///< without a plan: for which one is known
double checkmate_result_seconds(const checkmate_result* result);
/// The plan: ops in the order in which they run, each once or more. Without a plan there are none.
checkmate_ids checkmate_result_steps(const checkmate_result* result);
/// The tensors that are freed after a step.
checkmate_ids checkmate_result_frees(const checkmate_result* result, size_t step);

/* Addresses */

typedef struct {
  size_t struct_size;
  double time_limit;               ///< seconds; then the best layout so far is returned
  uint64_t seed;                   ///< with a limit of moves, it determines the layout
  int64_t alignment;               ///< of offsets; sizes count as rounded up to it
  int64_t capacity;                ///< stop as soon as the layout is no larger; 0: look for the smallest
  uint64_t moves;                  ///< stop after this many; 0: no limit
  const checkmate_cancel* cancel;  ///< or NULL
} checkmate_layout_options;
/// Defaults. `struct_size` is sizeof(checkmate_layout_options).
void checkmate_layout_options_init(checkmate_layout_options* options, size_t struct_size);

/// One stay in memory, from step `first` up to, but not including, step `last`.
typedef struct {
  uint32_t tensor;  ///< an output of the op of step `first`, or CHECKMATE_WORKSPACE of that op
  uint32_t first;
  uint32_t last;
  int64_t offset;  ///< in one piece of memory that begins aligned
  int64_t size;
} checkmate_block;
#define CHECKMATE_WORKSPACE UINT32_MAX

typedef struct checkmate_layout checkmate_layout;
/// Addresses for the tensors of a plan, fixed memory left out. An error without a plan.
checkmate_code checkmate_lay_out(const checkmate_graph* graph, const checkmate_result* result,
                                 const checkmate_layout_options* options, checkmate_layout** layout,
                                 char** message);
void checkmate_layout_free(checkmate_layout* layout);
/// Every block ends within it.
int64_t checkmate_layout_size(const checkmate_layout* layout);
/// The most bytes, rounded up to the alignment, that live at once: no layout is smaller.
int64_t checkmate_layout_peak(const checkmate_layout* layout);
/// In the order in which the plan allocates them.
const checkmate_block* checkmate_layout_blocks(const checkmate_layout* layout, size_t* count);

// NOLINTEND(readability-identifier-naming, modernize-use-using, modernize-redundant-void-arg)
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
