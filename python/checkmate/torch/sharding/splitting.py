"""Collectives as two units each: one that starts a message, and one that waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import fx

from checkmate.torch.addresses import UnitAllocations
from checkmate.torch.costs import UnitCost
from checkmate.torch.fx_utils import Origin, getitem, is_getitem, origin, set_origin, value
from checkmate.torch.ir import Call, Program, Storage, Unit
from checkmate.torch.pause import Apart
from checkmate.torch.sharding.collectives import Collective
from checkmate.torch.sharding.timeline import Event, Part


class Start(Apart):
    """A collective begins; the report calls it by the name of the collective."""

    planned = True

    def __init__(self, collective: Collective) -> None:
        self.collective = collective
        self.effect = collective.effect
        self.__name__ = collective.__name__  # type: ignore[misc]

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Its results, which nobody may read yet."""
        return self.collective.start(*tensors)

    def __str__(self) -> str:
        return f"start {self.collective}"


class Finish(Apart):
    """Its results are there."""

    planned = True
    __name__ = "wait"

    def __init__(self, collective: Collective) -> None:
        self.collective = collective

    def __call__(self, *_results: torch.Tensor) -> None:
        """The arguments tell the graph what is waited for."""
        self.collective.finish()

    def __str__(self) -> str:
        return f"wait {self.collective}"


@dataclass(frozen=True)
class Split:
    """The program whose units are in the order in which the events first have them, and its steps."""

    program: Program
    costs: list[UnitCost]
    steps: list[int]
    places: dict[Event, int]  # the unit of each event


class Splitter:
    """Of one program, for any events.

    A wait makes a tensor of no bytes, which all readers of the results read too: none of them can run before it. What a message
    holds beside its results, and a reduction reads, stays until then. The whole cost is that of the start, which cannot be left
    out: a bound for whole collectives holds for halves.
    """

    def __init__(self, program: Program, costs: Sequence[UnitCost]) -> None:
        self._whole = program
        self._costs = costs
        self._nodes: dict[int, fx.Node] = {}
        for index, unit in enumerate(program.units):
            if isinstance(unit.node.target, Collective):
                self._nodes[index] = self._wait_node(unit.node)

    def split(self, events: Sequence[Event]) -> Split:
        """In this order."""
        places: dict[Event, int] = {}
        for event in events:
            places.setdefault(event, len(places))
        storages = [replace(storage) for storage in self._whole.storages]
        ready: dict[int, int] = {}  # of a result: what says that it is there
        held: dict[int, int] = {}  # of a collective: what its message holds
        for index, node in self._nodes.items():
            unit = self._whole.units[index]
            if nbytes := _message_bytes(unit, self._costs[index]):
                held[index] = len(storages)
                storages.append(Storage(f"{unit.node.name} message", nbytes, places[Event(index, Part.START)]))
            ready |= dict.fromkeys(unit.makes, len(storages))
            storages.append(Storage(node.name, 0, places[Event(index, Part.FINISH)]))
        units, costs = [], []
        for index, part in places:
            unit, cost = self._part(index, part, ready, held)
            units.append(unit)
            costs.append(cost)
            for storage in self._whole.units[index].makes if part is not Part.FINISH else ():
                storages[storage].unit = places[Event(index, part)]
        program = replace(self._whole, units=units, storages=storages)
        return Split(program, costs, [places[event] for event in events], places)

    def _part(self, index: int, part: Part, ready: dict[int, int], held: dict[int, int]) -> tuple[Unit, UnitCost]:
        whole, cost = self._whole.units[index], self._costs[index]
        if part is Part.ALL:
            waited = [ready[s] for s in whole.reads if s in ready]
            return replace(whole, reads=[*whole.reads, *dict.fromkeys(waited)]), cost
        target = whole.node.target
        assert isinstance(target, Collective), "only collectives have parts"
        message = [held[index]] if index in held else []
        if part is Part.START:
            waited = [ready[s] for s in whole.reads if s in ready]
            makes = [*whole.makes, *message]
            start = Unit([Call(whole.node, Start(target))], [*whole.reads, *waited], makes, effect=whole.effect)
            return start, _costs_of_parts(whole, cost)[0]
        reads = [*whole.makes, *message, *(whole.reads if whole.effect else ())]
        node = self._nodes[index]
        return Unit([Call(node, node.target)], reads, [ready[whole.makes[0]]]), _costs_of_parts(whole, cost)[1]

    def _wait_node(self, call: fx.Node) -> fx.Node:
        results = [node for node in call.users if is_getitem(node) and getitem(node)[0] is call]
        graph = self._whole.trace.graph
        with graph.inserting_after(max(results)):
            node = graph.call_function(Finish(call.target), tuple(results))  # type: ignore[arg-type]
        node.meta["val"] = None
        set_origin(node, Origin(origin(call).phase, origin(call).module))
        return node


def allocations_of_start(collective: Unit) -> int:
    """Its results, and the copy that the message holds. What is allocated after them, the wait allocates."""
    target = collective.node.target
    assert isinstance(target, Collective), "only collectives have parts"
    return len(collective.makes) + target.holds_a_copy


def _message_bytes(unit: Unit, cost: UnitCost) -> int:
    """What the message holds in addition to its results, while it is on its way."""
    target = unit.node.target
    assert isinstance(target, Collective), "only collectives have messages"
    if cost.allocations is None:
        return target.elements * value(unit.node)[0].itemsize if target.holds_a_copy else 0
    return sum(cost.allocations.events[len(unit.makes) : allocations_of_start(unit)])


def _costs_of_parts(whole: Unit, cost: UnitCost) -> tuple[UnitCost, UnitCost]:
    """Of the start, which makes the results and, after them, the copy that the message holds; and of the wait."""
    held = _message_bytes(whole, cost)
    rest = max(0, cost.workspace - held)
    made = (*cost.made, held) if cost.made and held else cost.made
    if cost.allocations is None:
        return UnitCost(cost.cost, rest, made), UnitCost(0, rest)
    results, first = len(whole.makes), allocations_of_start(whole)
    events, owners = cost.allocations.events, cost.allocations.owners
    start = UnitAllocations(events[:first], (*owners[:results], *[results] * (first - results)))
    later = [e if e > 0 else e + first for e in events[first:] if e > 0 or -1 - e >= first]
    return UnitCost(cost.cost, 0, made, start), UnitCost(0, rest, (), UnitAllocations(tuple(later), owners[first:]))
