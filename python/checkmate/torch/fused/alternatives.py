"""Which way of fusing a step is best at the budget: planned with estimated costs, before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import checkmate
from checkmate import Graph, InfeasibleError, NoPlanError, Plan
from checkmate.torch.cache import Cache
from checkmate.torch.costs import estimated_costs
from checkmate.torch.fused.grouping import Late
from checkmate.torch.fused.step import Fusible
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options
from checkmate.torch.planning import given_plan
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.trace import Trace

_SECONDS = 2.0  # of search, per way
_GAP = 0.01  # estimates are no closer


def choose(fusible: Fusible, finished: Callable[[Trace], Trace], options: Options, identity: str) -> tuple[Late, int | None]:
    """The way, and the budget in bytes: a share is one of what the step takes if it keeps everything. `finished` adds what comes
    after the backward pass. The choice is remembered for a step of the same `identity`."""
    if options.budget is None and options.plan is None:
        return Late.KEEP, None
    cache, key = (
        Cache(options.cache),
        f"{identity} {options.budget} {options.reserved_bytes} {options.order} {options.time_limit}",
    )
    remembered = _choice_from(cache.read("fusions", key)) if options.plan is None else None
    if remembered is not None:
        return remembered
    graphs = {late: _estimated(lower(finished(fusible.fused(late))), options) for late in Late}
    budget = None if options.budget is None else graphs[Late.KEEP].parse_budget(options.budget)
    if options.plan is not None:
        return _planned_way(graphs, options), budget
    assert budget is not None, "there is a budget, or a plan"
    costs = {late: _cost(graph, budget, options) for late, graph in graphs.items()}
    best = min(costs, key=lambda late: costs[late])
    cache.write("fusions", key, [best.value, budget])
    return best, budget


def _choice_from(record: Any) -> tuple[Late, int] | None:
    """What the cache says, if it can be that."""
    match record:
        case [str(way), int(budget)] if way in {late.value for late in Late} and 0 <= budget < 1 << 62:
            return Late(way), budget
    return None


def _estimated(program: Program, options: Options) -> Graph:
    costs = estimated_costs(program)
    return planning_graph(program, costs, "", cost_unit="flop", order=options.order, reserved_bytes=options.reserved_bytes)


def _cost(graph: Graph, budget: int, options: Options) -> tuple[int, int]:
    """Of the best plan; where there is none, what the way needs."""
    try:
        limit = min(_SECONDS, options.time_limit)
        plan = checkmate.solve(graph, budget, order=options.order, time_limit=limit, gap=_GAP, seed=options.seed, progress=False)
    except (InfeasibleError, NoPlanError) as error:
        return 1 << 62, error.sufficient or 1 << 62
    return plan.cost, plan.peak


def _planned_way(graphs: dict[Late, Graph], options: Options) -> Late:
    """The one that the given plan is for."""
    unbounded = replace(options, budget=None)
    for late, graph in graphs.items():
        try:
            plan: Plan = given_plan(graph, unbounded)
        except checkmate.Error:
            continue
        if len(set(plan.steps)) == len(graph.ops):
            return late
    return Late.COPY
