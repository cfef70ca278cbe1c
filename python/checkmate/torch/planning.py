"""From costs to a plan that fits: one that a search finds, and whose allocations have addresses within the budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import checkmate
from checkmate import Graph, InfeasibleError, NoPlanError, Plan
from checkmate._cache import Cache
from checkmate._core import bytes_text
from checkmate.torch.addresses import Addresses, planned_addresses
from checkmate.torch.costs import UnitCost
from checkmate.torch.ir import Program
from checkmate.torch.optimizer import readers_after_updates
from checkmate.torch.options import Options
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.runtime import extension_for

_MOST_LAYOUTS = 6  # of plans for smaller and smaller budgets
_LAYOUT_SECONDS, _LAST_LAYOUT_SECONDS = 2.0, 10.0


def planned(
    program: Program, costs: Sequence[UnitCost], name: str, options: Options, start: Plan | None
) -> tuple[Graph, Plan, Addresses | None]:
    """A plan in which nobody reads a parameter after its update. Each round forbids what the one before did wrong."""
    once: set[int] = set()
    unit = "flop" if options.costs == "flops" else "ns"
    while True:
        graph = planning_graph(
            program, costs, name, cost_unit=unit, order=options.order, reserved_bytes=options.reserved_bytes, once=once
        )
        plan, addresses = _fitting(program, graph, costs, options, start)
        late = readers_after_updates(program, plan.steps)
        if not late:
            return graph, plan, addresses
        once |= late


def _fitting(
    program: Program, graph: Graph, costs: Sequence[UnitCost], options: Options, start: Plan | None
) -> tuple[Plan, Addresses | None]:
    """A plan whose arena fits the budget, not only its peak. What the layout of one leaves over, the next must save."""
    wanted = plan = solved(graph, options, start)
    room = wanted.budget - graph.fixed_bytes
    addresses = plan_addresses(program, plan, costs, room if options.budget is not None else None)
    if addresses is None or options.budget is None or options.plan is not None or addresses.total <= room:
        return plan, addresses
    cache, key = Cache(options.cache), f"{graph.sha256} {wanted.budget} {options.order} {options.limits}"
    remembered = cache.read("fits", key, _budget_from)  # the budget whose plan had a layout within this one
    best, budget = (plan, addresses), wanted.budget
    for attempt in range(_MOST_LAYOUTS):
        budget -= max(addresses.total - room, room // 2000)
        if attempt == 0 and remembered is not None and graph.fixed_bytes < remembered < budget:
            budget = remembered
        try:
            plan = solved(graph, replace(options, budget=budget), plan)
        except (InfeasibleError, NoPlanError):
            if budget == remembered:
                budget = wanted.budget  # no longer true
                continue
            break
        addresses = plan_addresses(program, plan, costs, room) or addresses
        best = min(best, (plan, addresses), key=lambda each: each[1].total)
        if addresses.total <= room:
            cache.write("fits", key, str(budget))
            break
    plan, addresses = best
    if addresses.total > room:
        addresses = plan_addresses(program, plan, costs, room, _LAST_LAYOUT_SECONDS) or addresses
    if addresses.total > room:
        least = graph.fixed_bytes + addresses.total
        raise NoPlanError(
            f"no layout within {bytes_text(wanted.budget)} was found: the values of a plan fit, but not side by side; "
            f"{least} bytes ({bytes_text(least)}) suffice",
            wanted.budget,
            least,
        )
    if plan is not wanted:
        # The bound is that of the whole budget.
        plan = Plan.from_steps(
            graph, plan.steps, wanted.budget, order=plan.order, method=plan.method, lower_bound=wanted.lower_bound, seed=plan.seed
        )
    return plan, addresses


def plan_addresses(
    program: Program, plan: Plan, costs: Sequence[UnitCost], room: int | None = None, seconds: float = _LAYOUT_SECONDS
) -> Addresses | None:
    """Where its allocations lie, within the room if that is found in time; None if they are not known."""
    known = [cost.allocations for cost in costs if cost.allocations is not None]
    if extension_for(program) is None or len(known) < len(costs):
        return None
    return planned_addresses(program, known, plan.steps, plan.frees, room, seconds)


def solved(graph: Graph, options: Options, start: Plan | None) -> Plan:
    """A plan within the budget: the one that was given, one that is remembered, or what a search finds."""
    if options.plan is not None:
        return given_plan(graph, options)
    if options.budget is None:
        return Plan.keep_all(graph)
    budget = options.budget_bytes(graph)
    cache, key = Cache(options.cache), f"{graph.sha256} {budget} {options.order} {options.limits}"
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
            patience=options.patience,
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


def given_plan(graph: Graph, options: Options) -> Plan:
    """The plan that was given, on this graph: costs may have been measured anew since it was found."""
    given = options.plan
    assert given is not None, "somebody asked for it"
    steps = given.steps if isinstance(given, Plan) else _read_steps(given)
    try:
        budget = None if options.budget is None else options.budget_bytes(graph)
        return Plan.from_steps(graph, steps, budget, order=options.order, method="given")
    except checkmate.Error as error:
        raise checkmate.Error(f"the plan that was given does not fit this step: {error}", "invalid_plan") from None


def _budget_from(text: str) -> int:
    budget: Any = json.loads(text)
    if type(budget) is not int:
        raise ValueError(f"a budget is a whole number, got {budget!r:.60}")
    return budget


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
