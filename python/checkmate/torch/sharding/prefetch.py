"""A plan whose messages go on while ops run, within its budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from checkmate import Graph, Plan
from checkmate.torch.addresses import Addresses
from checkmate.torch.options import Options
from checkmate.torch.pipeline import Planned
from checkmate.torch.planning import plan_addresses
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.sharding.splitting import Split, Splitter, allocations_of_start
from checkmate.torch.sharding.timeline import Event, Part
from checkmate.torch.sharding.windows import at_once, overlapping

_ATTEMPTS = 3  # to lay out what stays longer


def with_overlap(found: Planned, options: Options, in_lockstep: Callable[..., Any]) -> Planned:
    """The first rank decides when messages start: their order is the same on all."""
    splitter = Splitter(found.program, found.costs)
    capacity = found.plan.peak if options.budget is None else found.plan.budget
    costs = [cost.cost for cost in found.costs]

    def decide() -> tuple[list[Event], Addresses | None]:
        room = capacity - found.graph.fixed_bytes
        most = capacity
        for _ in range(_ATTEMPTS):
            events = overlapping(found.program, found.plan, costs, most)
            split = splitter.split(events)
            addresses = plan_addresses(split.program, _plan(split, found, options), split.costs, room)
            if addresses is None or found.addresses is None or addresses.total <= max(room, found.addresses.total):
                return events, addresses
            most -= addresses.total - room
        events = at_once(found.program, found.plan.steps)
        return events, _with_waits(found, events)

    events, addresses = in_lockstep(decide)
    return _overlapped(splitter.split(events), found, options, addresses)


def without_overlap(found: Planned, options: Options) -> Planned:
    """The same steps, each message waited for where it starts: for ranks whose batches differ, and so their memory."""
    events = at_once(found.program, found.plan.steps)
    split = Splitter(found.program, found.costs).split(events)
    return _overlapped(split, found, options, _with_waits(found, events))


def _overlapped(split: Split, found: Planned, options: Options, addresses: Addresses | None) -> Planned:
    plan = _plan(split, found, options)
    return replace(found, program=split.program, graph=plan.graph, plan=plan, costs=split.costs, addresses=addresses)


def _plan(split: Split, found: Planned, options: Options) -> Plan:
    plan = found.plan
    budget = None if options.budget is None else plan.budget
    return Plan.from_steps(
        _graph(split, found.graph, options),
        split.steps,
        budget,
        order=plan.order,
        method=plan.method,
        lower_bound=plan.lower_bound,
        seed=plan.seed,
    )


def _graph(split: Split, whole: Graph, options: Options) -> Graph:
    once = {
        split.places[event]
        for event in split.places
        if event.part is not Part.FINISH
        and not whole.ops[event.unit].recomputable
        and not split.program.units[split.places[event]].effect
    }
    return planning_graph(
        split.program,
        split.costs,
        whole.name,
        cost_unit=whole.cost_unit,
        order=options.order,
        reserved_bytes=whole.reserved_bytes,
        once=once,
    )


def _with_waits(found: Planned, events: Sequence[Event]) -> Addresses | None:
    """Each collective's allocations at their addresses, those after its start in its wait, which follows it at once."""
    if found.addresses is None:
        return None
    of_runs = iter(found.addresses.allocations)
    allocations: list[list[tuple[int, int]]] = []
    later: list[tuple[int, int]] = []
    for event in events:
        if event.part is Part.FINISH:
            allocations.append(later)
            continue
        of_run = next(of_runs)
        if event.part is Part.START:
            count = allocations_of_start(found.program.units[event.unit])
            of_run, later = of_run[:count], of_run[count:]
        allocations.append(of_run)
    return replace(found.addresses, allocations=[*allocations, *of_runs])
