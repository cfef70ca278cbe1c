#pragma once

#include "checkmate/budget.h"
#include "checkmate/explain.h"
#include "checkmate/file.h"
#include "checkmate/graph.h"
#include "checkmate/layout.h"
#include "checkmate/least_budget.h"
#include "checkmate/max_batch.h"
#include "checkmate/milp_text.h"
#include "checkmate/plan.h"
#include "checkmate/planner.h"
#include "checkmate/result.h"
#include "checkmate/simulate.h"
#include "checkmate/solve.h"
#include "checkmate/stage_map.h"
#include "checkmate/structural_minimum.h"
#include "checkmate/sweep.h"
#include "checkmate/units.h"
#include "checkmate/validate.h"
#include "checkmate/version.h"
#include "checkmate/whole_costs.h"

// The components that were installed with the core.
#if __has_include("checkmate/cost_model.h")
#include "checkmate/cost_model.h"
#endif
#if __has_include("checkmate/io.h")
#include "checkmate/io.h"
#endif
#if __has_include("checkmate/plot.h")
#include "checkmate/plot.h"
#endif
#if __has_include("checkmate/report.h")
#include "checkmate/report.h"
#endif
#if __has_include("checkmate/zoo.h")
#include "checkmate/zoo.h"
#endif
