"""Where the allocations of a planned step lie: in one arena, at addresses that are laid out before it runs.

Which allocations a unit makes, scratch of its kernels included, is recorded once; those of any plan follow from that. Gradients
have their places in the arena as well: most loops free them before the next step, and those that add to them take them out first.
The loss and other results, which may stay for as long as somebody likes, and what is tiny come from malloc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import fx

from checkmate import lay_out
from checkmate.torch.ir import Program
from checkmate.torch.runtime import NativeStep
from checkmate.torch.schedule import Schedule

_OUTSIDE = -1
_SMALLEST = 1024  # bytes that are worth a place of their own


@dataclass(frozen=True)
class UnitAllocations:
    """What one run of a unit allocates, and how long it stays.

    Each event is the bytes of a new allocation or, negative, -1 - the number of the one that is freed before the unit ends.
    `owners` says of each allocation which storage it stays with: a number in `makes` of the unit; -2 - a number in its `reads`,
    for the copy that a reshape had to make; -1 for none of them.
    """

    events: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()


@dataclass(frozen=True)
class Addresses:
    """The layout of a step."""

    allocations: list[list[tuple[int, int]]]  # of each run: bytes, and the offset or _OUTSIDE
    size: int
    peak: int  # the most bytes of these that live at once
    outside: int  # bytes of results that lie outside of the arena

    @property
    def total(self) -> int:
        """Bytes that the step takes, in addition to fixed memory."""
        return self.size + self.outside


@dataclass
class _Block:
    run: int
    bytes: int
    first: int
    last: int | None = None  # None: it outlives the step
    gradient: bool = False


@dataclass
class _Blocks:
    """The allocations of a step in their order, with moments that count up."""

    blocks: list[_Block] = field(default_factory=list)
    moment: int = 0

    def add(self, run: int, nbytes: int) -> int:
        self.blocks.append(_Block(run, nbytes, self._tick()))
        return len(self.blocks) - 1

    def free(self, block: int) -> None:
        self.blocks[block].last = self._tick()

    def _tick(self) -> int:
        self.moment += 1
        return self.moment

    def laid_out(self, run_count: int, capacity: int | None, time_limit: float) -> Addresses:
        """At addresses within the capacity, if that is found in time."""
        end = self.moment + 1
        counted = [b for b in self.blocks if b.bytes >= _SMALLEST]
        inside = [b for b in counted if b.last is not None or b.gradient]
        outside = sum(b.bytes for b in counted if b.last is None and not b.gradient)
        found = lay_out(
            [(b.bytes, b.first, end if b.last is None else b.last) for b in inside],
            capacity=None if capacity is None else max(0, capacity - outside),
            time_limit=time_limit,
        )
        offset_of = dict(zip(map(id, inside), found.offsets, strict=True))
        allocations: list[list[tuple[int, int]]] = [[] for _ in range(run_count)]
        for block in self.blocks:
            allocations[block.run].append((block.bytes, offset_of.get(id(block), _OUTSIDE)))
        return Addresses(allocations, found.size, found.peak, outside)


def planned_addresses(
    program: Program,
    units: Sequence[UnitAllocations],
    steps: Sequence[int],
    frees: Sequence[Sequence[int]],
    capacity: int | None = None,
    time_limit: float = 2.0,
) -> Addresses:
    """Of a plan, from what its units allocate."""
    blocks = _Blocks()
    of_storage: dict[int, list[int]] = {}
    for run, (unit, freed) in enumerate(zip(steps, frees, strict=True)):
        own: list[int] = []
        for event in units[unit].events:
            if event < 0:
                blocks.free(own[-1 - event])
                continue
            owner = units[unit].owners[len(own)]
            own.append(blocks.add(run, event))
            if owner != _OUTSIDE:
                storages = program.units[unit].makes if owner >= 0 else program.units[unit].reads
                of_storage.setdefault(storages[owner if owner >= 0 else -2 - owner], []).append(own[-1])
        for storage in freed:
            for block in of_storage.pop(storage, []):
                blocks.free(block)
    for storage in _gradient_storages(program):
        for block in of_storage.get(storage, []):
            blocks.blocks[block].gradient = True
    return blocks.laid_out(len(steps) + 1, capacity, time_limit)


def recorded_addresses(
    step: NativeStep, gradients: Sequence[fx.Node], log: Log, capacity: int | None = None, time_limit: float = 2.0
) -> Addresses:
    """Of a step that was run to see what it allocates."""
    blocks = _Blocks()
    for run, (begin, until) in enumerate(log.spans()):
        for allocation, nbytes in log.events[begin:until]:
            if nbytes > 0:
                blocks.add(run, nbytes)
            else:
                blocks.free(allocation)
    slots = set(map(step.slot, gradients))
    latest = {slot: allocation for _, slot, allocation in log.values if slot in slots}
    for allocation in latest.values():
        blocks.blocks[allocation].gradient = True
    return blocks.laid_out(step.run_count, capacity, time_limit)


@dataclass(frozen=True)
class Log:
    """What the runtime recorded of a step: allocations and frees in order, where each run begins and ends among them, and which
    values lie in which allocation."""

    events: list[tuple[int, int]]
    runs: list[tuple[int, int]]
    values: list[tuple[int, int, int]]

    def spans(self) -> list[tuple[int, int]]:
        """Of each run, with what is dropped after it."""
        return [(begin, until) for (begin, _), (until, _) in zip(self.runs, [*self.runs[1:], (len(self.events), 0)], strict=True)]


def unit_allocations(schedule: Schedule, step: NativeStep, log: Log) -> list[UnitAllocations]:
    """Of each unit, from a recorded step that runs every unit."""
    program = schedule.program
    storage_of = {slot: program.storage_of[node] for node, slot in step.slots.items()}
    stays: dict[int, int] = {}  # allocation: storage
    for _, slot, allocation in log.values:
        stays.setdefault(allocation, storage_of[slot])
    units = [UnitAllocations()] * len(program.units)
    for run, (begin, end) in zip(schedule.runs, log.runs, strict=False):
        unit = program.units[run.unit]
        own: dict[int, int] = {}
        events: list[int] = []
        for allocation, nbytes in log.events[begin:end]:
            if nbytes > 0:
                own[allocation] = len(own)
                events.append(nbytes)
            elif allocation in own:
                events.append(-1 - own[allocation])
        units[run.unit] = UnitAllocations(tuple(events), tuple(_owner(unit, stays.get(each)) for each in own))
    return units


def _owner(unit: Any, storage: int | None) -> int:
    if storage in unit.makes:
        return int(unit.makes.index(storage))
    return -2 - int(unit.reads.index(storage)) if storage in unit.reads else -1


def _gradient_storages(program: Program) -> set[int]:
    """Those of gradients alone: nothing else that is returned lies in them."""
    trace = program.trace
    gradients = {node for node in trace.gradients.values() if isinstance(node, fx.Node)}
    others = {program.storage_of[node] for node in trace.outputs if node not in gradients}
    return {program.storage_of[node] for node in gradients} - others
