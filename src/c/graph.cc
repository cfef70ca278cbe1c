#include "c/boundary.h"
#include "c/handles.h"
#include "checkmate/budget.h"
#include "checkmate/io.h"

namespace {

using namespace checkmate;
using namespace checkmate::c;

Result<OpSpec> spec_of(const checkmate_op* theirs) {
  CHECKMATE_TRY(const checkmate_op op, read(theirs, "op"));
  CHECKMATE_TRY(given(op.name, "the op's name"));
  if (op.phase < CHECKMATE_FORWARD || op.phase > CHECKMATE_UPDATE) {
    const std::string phase = std::to_string(static_cast<int>(op.phase));
    return Error{ErrorCode::kInvalidArgument,
                 "op '" + text(op.name) + "': phase is " + phase + "; phases are 0 (forward) to 3 (update)"};
  }
  CHECKMATE_TRY(std::vector<TensorId> inputs, ids<TensorId>(op.inputs, "the op's inputs"));
  CHECKMATE_TRY(std::vector<TensorId> outputs, ids<TensorId>(op.outputs, "the op's outputs"));
  return OpSpec{.name = op.name,
                .kind = text(op.kind),
                .cost = Cost{op.cost},
                .inputs = std::move(inputs),
                .outputs = std::move(outputs),
                .workspace = Bytes{op.workspace},
                .phase = static_cast<Phase>(op.phase),
                .recomputable = op.runs_once == 0};
}

/// Hands out what was built or read.
Result<void> give(Result<Graph> made, checkmate_graph** graph) {
  if (!made) return made.error();
  *graph = new checkmate_graph{*std::move(made)};
  return {};
}

}  // namespace

const char* checkmate_version(void) { return version(); }

void checkmate_free(char* message) { std::free(message); }

checkmate_builder* checkmate_builder_new(const char* name, const char* cost_unit) {
  return made<checkmate_builder>(GraphBuilder(text(name), text(cost_unit)));
}

void checkmate_builder_free(checkmate_builder* builder) { delete builder; }

checkmate_code checkmate_builder_add_tensor(checkmate_builder* builder, const char* name, int64_t bytes,
                                            unsigned flags, uint32_t* id, char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(builder, "builder"));
    CHECKMATE_TRY(given(name, "name"));
    const TensorId tensor = builder->builder.add_tensor({.name = name,
                                                         .bytes = Bytes{bytes},
                                                         .resident = (flags & CHECKMATE_RESIDENT) != 0,
                                                         .output = (flags & CHECKMATE_OUTPUT) != 0});
    if (id != nullptr) *id = tensor.value;
    return {};
  });
}

checkmate_code checkmate_builder_add_op(checkmate_builder* builder, const checkmate_op* op, uint32_t* id,
                                        char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(builder, "builder"));
    CHECKMATE_TRY(const OpSpec spec, spec_of(op));
    const OpId added = builder->builder.add_op(spec);
    if (id != nullptr) *id = added.value;
    return {};
  });
}

checkmate_code checkmate_builder_set_reserved_bytes(checkmate_builder* builder, int64_t bytes,
                                                    char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(builder, "builder"));
    builder->builder.set_reserved_bytes(Bytes{bytes});
    return {};
  });
}

checkmate_code checkmate_builder_build(checkmate_builder* builder, checkmate_graph** graph, char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(builder, "builder"));
    CHECKMATE_TRY(given(graph, "graph"));
    return give(std::move(builder->builder).build(), graph);
  });
}

checkmate_code checkmate_graph_load(const char* argument, checkmate_graph** graph, char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(argument, "argument"));
    CHECKMATE_TRY(given(graph, "graph"));
    return give(load_graph(argument), graph);
  });
}

checkmate_code checkmate_graph_parse(const char* json, size_t size, checkmate_graph** graph, char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(json, "json"));
    CHECKMATE_TRY(given(graph, "graph"));
    return give(parse_graph(std::string(json, size)), graph);
  });
}

void checkmate_graph_free(checkmate_graph* graph) { delete graph; }

size_t checkmate_graph_op_count(const checkmate_graph* graph) { return or_empty(graph).graph.op_count(); }

size_t checkmate_graph_tensor_count(const checkmate_graph* graph) {
  return or_empty(graph).graph.tensor_count();
}

checkmate_text checkmate_graph_op_name(const checkmate_graph* graph, uint32_t op) {
  return op < checkmate_graph_op_count(graph) ? view(graph->graph.name(OpId{op})) : checkmate_text{};
}

checkmate_ids checkmate_graph_op_inputs(const checkmate_graph* graph, uint32_t op) {
  return op < checkmate_graph_op_count(graph) ? view(graph->graph.inputs(OpId{op})) : checkmate_ids{};
}

checkmate_ids checkmate_graph_op_outputs(const checkmate_graph* graph, uint32_t op) {
  return op < checkmate_graph_op_count(graph) ? view(graph->graph.outputs(OpId{op})) : checkmate_ids{};
}

checkmate_text checkmate_graph_tensor_name(const checkmate_graph* graph, uint32_t tensor) {
  const bool there = tensor < checkmate_graph_tensor_count(graph);
  return there ? view(graph->graph.name(TensorId{tensor})) : checkmate_text{};
}

int64_t checkmate_graph_tensor_bytes(const checkmate_graph* graph, uint32_t tensor) {
  const bool there = tensor < checkmate_graph_tensor_count(graph);
  return there ? graph->graph.bytes(TensorId{tensor}).count() : CHECKMATE_NONE;
}

int64_t checkmate_graph_keep_all_cost(const checkmate_graph* graph) {
  return or_empty(graph).graph.keep_all_cost().count();
}

int64_t checkmate_graph_fixed_bytes(const checkmate_graph* graph) {
  return or_empty(graph).graph.fixed_bytes().count();
}

checkmate_code checkmate_graph_budget(const checkmate_graph* graph, const char* text, int64_t* bytes,
                                      char** message) {
  return guarded(message, [&]() -> Result<void> {
    CHECKMATE_TRY(given(graph, "graph"));
    CHECKMATE_TRY(given(text, "text"));
    CHECKMATE_TRY(given(bytes, "bytes"));
    CHECKMATE_TRY(const Bytes budget, parse_budget(graph->graph, text));
    *bytes = budget.count();
    return {};
  });
}
