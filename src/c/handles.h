#pragma once

#include <stop_token>
#include <vector>

#include "checkmate/c.h"
#include "checkmate/graph.h"
#include "checkmate/layout.h"
#include "checkmate/solve.h"

// What the handles of c.h hold.
// NOLINTBEGIN(readability-identifier-naming): named in C
struct checkmate_builder {
  checkmate::GraphBuilder builder;
};

struct checkmate_graph {
  checkmate::Graph graph;
};

struct checkmate_cancel {
  std::stop_source source;
};

struct checkmate_result {
  checkmate::SolveResult result;
};

struct checkmate_layout {
  checkmate::Bytes size, peak;
  std::vector<checkmate_block> blocks;
};
// NOLINTEND(readability-identifier-naming)
