#pragma once

#include "checkmate/bound.h"
#include "checkmate/budget.h"
#include "checkmate/graph.h"
#include "checkmate/io.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/simulate.h"
#include "checkmate/solve.h"
#include "checkmate/units.h"
#include "checkmate/validate.h"
#include "checkmate/zoo.h"
