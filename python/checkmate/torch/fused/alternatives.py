"""Which way of fusing a step is best at the budget: planned with estimated costs, before anything is compiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import checkmate
from checkmate import Graph, InfeasibleError, NoPlanError, Plan
from checkmate._cache import Cache
from checkmate.frontend.planning import given_plan
from checkmate.torch.captured import Captured
from checkmate.torch.costs import estimated_costs
from checkmate.torch.fused.grouping import Late
from checkmate.torch.fused.step import Fusible
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options
from checkmate.torch.planning_graph import planning_graph

_SECONDS = 2.0  # of search, per way
_GAP = 0.01  # estimates are no closer
_MOST_SPARED = 1 << 53  # bytes: more than any machine has


def choose(fusible: Fusible, finished: Callable[[Captured], Captured], options: Options, identity: str) -> list[tuple[Late, int]]:
    """Ways to try in turn, and by how many bytes another way takes less without recomputation: shares are of that.

    `finished` adds what comes after the backward pass. The choice is remembered for a step of the same `identity`. There is more
    than one where a plan is given: which way it is for may show only after kernels were compiled.
    """
    if options.budget is None and options.plan is None:
        return [(Late.KEEP, 0)]
    cache, key = (
        Cache(options.cache),
        f"{identity} {options.budget} {options.reserved_bytes} {options.order} {options.time_limit}",
    )
    remembered = cache.read("fusions", key, _choice_from) if options.plan is None else None
    if remembered is not None:
        return [remembered]
    graphs = {late: _estimated(lower(finished(fusible.fused(late))), options) for late in Late}
    peaks = {late: Plan.keep_all(graph).peak for late, graph in graphs.items()}
    least = min(peaks, key=lambda late: peaks[late])
    spared = {late: peak - peaks[least] for late, peak in peaks.items()}
    if options.plan is not None:
        fitting_first = sorted(graphs, key=lambda late: not _is_for(options, graphs[late]))
        return [(late, spared[late]) for late in fitting_first]
    assert options.budget is not None, "there is a budget, or a plan"
    budget = graphs[least].parse_budget(options.budget)
    costs = {late: _cost(graph, budget, options) for late, graph in graphs.items()}
    best = min(costs, key=lambda late: costs[late])
    cache.write("fusions", key, json.dumps([best.value, spared[best]]))
    return [(best, spared[best])]


def is_given_plan_for(options: Options, program: Program) -> bool:
    """Whether the plan that was given, if any, computes all ops of this program and no others."""
    return options.plan is None or _is_for(options, _estimated(program, options))


def _choice_from(text: str) -> tuple[Late, int]:
    way, spared = json.loads(text)
    if type(spared) is not int or not 0 <= spared < _MOST_SPARED:
        raise ValueError(f"no step can spare {spared!r:.60} bytes")
    return Late(way), spared


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


def _is_for(options: Options, graph: Graph) -> bool:
    try:
        plan = given_plan(graph, replace(options, budget=None))
    except checkmate.Error:
        return False
    return len(set(plan.steps)) == len(graph.ops)
