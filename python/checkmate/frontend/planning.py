"""From a graph to a plan: the one that was given, one that is remembered, or what a search finds."""

from __future__ import annotations

import json
from pathlib import Path

import checkmate
from checkmate import Graph, InfeasibleError, Plan
from checkmate._cache import Cache
from checkmate._core import bytes_text
from checkmate.frontend.options import PlanningOptions


def solved(graph: Graph, options: PlanningOptions, start: Plan | None) -> Plan:
    """A plan within the budget: the one that was given, one that is remembered, or what a search finds."""
    if options.plan is not None:
        return given_plan(graph, options)
    if options.budget is None:
        return Plan.keep_all(graph)
    budget = options.budget_bytes(graph)
    cache, key = Cache(options.cache), f"{graph.sha256} {budget} {options.order} {options.time_limit} {options.gap}"
    remembered = cache.read("plans", key, lambda text: Plan.from_json(text, graph))
    if remembered is not None:
        return remembered
    try:
        plan = checkmate.solve(
            graph,
            budget,
            order=options.order,
            time_limit=options.time_limit,
            gap=options.gap,
            threads=options.threads,
            seed=options.seed,
            start=start if start is not None and len(start.graph) == len(graph) else None,
            progress=options.progress,
        )
    except InfeasibleError as error:
        told = f"{error}; of this, {_standing(graph)}"
        raise InfeasibleError(told, error.budget, error.needed, error.op, error.sufficient) from None
    cache.write("plans", key, plan.to_json())
    return plan


def given_plan(graph: Graph, options: PlanningOptions) -> Plan:
    """The plan that was given, on this graph: costs may have been measured anew since it was found."""
    given = options.plan
    assert given is not None, "somebody asked for it"
    steps = given.steps if isinstance(given, Plan) else _read_steps(given)
    try:
        budget = None if options.budget is None else options.budget_bytes(graph)
        return Plan.from_steps(graph, steps, budget, order=options.order, method="given")
    except checkmate.Error as error:
        raise checkmate.Error(f"the plan that was given does not fit this step: {error}", "invalid_plan") from None


def _read_steps(path: Path) -> list[int]:
    try:
        steps = json.loads(path.read_text())["steps"]
    except OSError as error:
        raise checkmate.Error(f"{path}: {error.strerror}", "io") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise checkmate.Error(f"{path}: not a plan file; write one with step.plan.save()", "invalid_file") from None
    return steps  # type: ignore[no-any-return]  # from_steps() checks it


def _standing(graph: Graph) -> str:
    """What no plan can drop."""
    results = sum(tensor.bytes for tensor in graph.tensors if tensor.output)
    resident = graph.fixed_bytes - graph.reserved_bytes
    reserve = f"{bytes_text(graph.reserved_bytes)} are the reserve, " if graph.reserved_bytes else ""
    return (
        f"{reserve}{bytes_text(resident)} are parameters, buffers and the batch, "
        f"and {bytes_text(results)} are gradients and other results"
    )
