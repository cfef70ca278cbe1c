"""What each unit of a program costs: time, workspace, and the size of results whose shapes do not tell it.

Steps run one after the other, so whatever is allocated between the begin of one and of the next is the first one's.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from checkmate._cache import Cache
from checkmate.frontend.machine import processor
from checkmate.tensorflow.profiling import Profile, profile
from checkmate.tensorflow.program import WITH_BIAS, Program, Unit, may_be_view

_RUNS = 3
_SMALLEST_SEEN = 1024  # bytes: an op that makes less may keep it elsewhere
_LARGEST_RECORDED = 1 << 53
_FLOPS_PER_BYTE = 5  # roughly what a current processor does while it moves a byte

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class UnitCost:
    """What one run takes."""

    cost: int
    workspace: int = 0  # bytes in addition to the unit's results, while it runs
    more: int = 0  # bytes of its results beyond those that shapes tell


@dataclass(frozen=True)
class _Slot:
    """What happened between the begin of a step and of the next."""

    seconds: float
    highest: int  # of what was allocated in it
    left: int  # of that, at its end


@dataclass(frozen=True)
class Sharing:
    """Names of ops that were seen to share memory or a kernel with another."""

    aliases: frozenset[str] = frozenset()  # they hand on their input
    writers: frozenset[str] = frozenset()  # they write over it
    fused: frozenset[str] = frozenset()  # gradients of convolutions' kernels, which are made with those of their biases


def seen_sharing(program: Program, steps: Sequence[int], run: Callable[[], Any]) -> Sharing:
    """In a run of units before ``with_writes``."""
    seen = profile(run)
    slots = _slots(seen, len(steps))
    with_bias = [program.units[steps[begin.step]] for begin in seen.begins if begin.kind == WITH_BIAS]
    fused = {op.name for unit in with_bias for op in unit.ops if op.type == "Conv2DBackpropFilter"}
    aliases: set[str] = set()
    writers: set[str] = set()
    for unit, slot in zip(steps, slots, strict=True):
        op, *others = program.units[unit].ops
        size = sum(program.storages[s].bytes for s in program.units[unit].makes)
        if slot is None or others or size < _SMALLEST_SEEN or slot.left or op.op_def.is_stateful:
            continue
        (aliases if may_be_view(op) else writers).add(op.name)
    return Sharing(frozenset(aliases), frozenset(writers), frozenset(fused))


def measured_costs(
    program: Program, steps: Sequence[int], run: Callable[[], Any], progress: Progress | None = None
) -> list[UnitCost]:
    """Of runs of these steps, which all units are among."""
    samples: dict[str, list[float]] = defaultdict(list)
    signatures = [signature(unit) for unit in program.units]
    workspace, more = [0] * len(program.units), [0] * len(program.units)
    for done in range(_RUNS):
        if progress:
            progress(done, _RUNS)
        for unit, slot in zip(steps, _slots(profile(run), len(steps)), strict=True):
            if slot is not None:
                samples[signatures[unit]].append(slot.seconds)
                extra, held = _beyond(program, unit, slot)
                workspace[unit], more[unit] = max(workspace[unit], extra), max(more[unit], held)
    return [
        UnitCost(max(1, round(_typical(samples[key]) * 1e9)), workspace[unit], more[unit]) for unit, key in enumerate(signatures)
    ]


def raised(program: Program, costs: Sequence[UnitCost], steps: Sequence[int], seen: Profile) -> list[UnitCost]:
    """The costs with what units took beyond them in this run of a plan."""
    result = list(costs)
    for unit, slot in zip(steps, _slots(seen, len(steps)), strict=True):
        if slot is not None:
            extra, held = _beyond(program, unit, slot)
            known = result[unit]
            result[unit] = UnitCost(known.cost, max(known.workspace, extra), max(known.more, held))
    return result


def estimated_costs(program: Program) -> list[UnitCost]:
    """Without measuring: floating-point operations, or what moving the unit's bytes is worth, if that is more."""
    return [UnitCost(max(1, _flops(unit), _FLOPS_PER_BYTE * _moved_bytes(program, unit))) for unit in program.units]


def _beyond(program: Program, unit: int, slot: _Slot) -> tuple[int, int]:
    """Workspace, and bytes of results that shapes do not tell: lists of tensors hold what their length says.

    Results that were written over an input are among what the unit makes, and were not allocated.
    """
    made = [program.storages[s] for s in program.units[unit].makes]
    if any(not storage.known for storage in made):
        return slot.highest - slot.left, slot.left  # what of it is told by shapes may lie in the memory of inputs
    return slot.highest - min(slot.left, sum(storage.bytes for storage in made)), 0


def _slots(seen: Profile, count: int) -> list[_Slot | None]:
    """Of each step; None for those that did not show."""
    first: dict[int, int] = {}
    end = 0
    for begin in seen.begins:
        first.setdefault(begin.step, begin.time)
        end = max(end, begin.time + begin.duration)
    order = sorted(first, key=first.__getitem__)
    times = [first[step] for step in order]
    held: dict[int, dict[int, int]] = defaultdict(dict)  # by position: what it allocated, by address
    highest: dict[int, int] = defaultdict(int)
    for event in seen.allocations:
        position = bisect_right(times, event.time) - 1
        blocks = held[position]
        if event.bytes > 0:
            blocks[event.address] = event.bytes
            highest[position] = max(highest[position], sum(blocks.values()))
        else:
            blocks.pop(event.address, None)
    slots: list[_Slot | None] = [None] * count
    for position, (step, since) in enumerate(zip(order, times, strict=True)):
        until = times[position + 1] if position + 1 < len(times) else end
        slots[step] = _Slot((until - since) / 1e12, highest[position], sum(held[position].values()))
    return slots


def _typical(seconds: Sequence[float]) -> float:
    """Whatever else the machine does makes a run longer, never shorter."""
    if len(seconds) < 2:
        return sum(seconds)
    return statistics.quantiles(seconds, n=4)[0]


def signature(unit: Unit) -> str:
    """Equal for two units that do the same work."""
    text = []
    for op in unit.ops:
        attributes = {key: str(value) for key, value in op.node_def.attr.items() if not key.startswith("_")}
        text.append(repr((op.type, sorted(attributes.items()), [(t.dtype.name, str(t.shape)) for t in op.inputs])))
    return hashlib.sha256(";".join(text).encode()).hexdigest()


def _flops(unit: Unit) -> int:
    return sum(_multiplications(op) for op in unit.ops if all(t.shape.is_fully_defined() for t in op.outputs))


def _multiplications(op: Any) -> int:
    """Twice the multiplications of a matrix product or a convolution; of others, nothing."""
    if "MatMul" in op.type:
        transposed = any(op.node_def.attr[key].b for key in ("transpose_a", "adj_x") if key in op.node_def.attr)
        return int(2 * op.outputs[0].shape.num_elements() * (op.inputs[0].shape[-2 if transposed else -1] or 0))
    if "Conv2D" not in op.type:
        return 0
    of_filter = "BackpropFilter" in op.type
    kernel = op.outputs[0] if of_filter else op.inputs[1]
    result = op.inputs[2] if "Backprop" in op.type else op.outputs[0]
    return int(2 * (kernel.shape.num_elements() or 0) * (result.shape.num_elements() or 0) // (result.shape[-1] or 1))


def _moved_bytes(program: Program, unit: Unit) -> int:
    return sum(program.storages[s].bytes for s in [*unit.reads, *unit.makes])


class CostCache:
    """Costs of a program, remembered."""

    def __init__(self, cache: Cache, program: Program) -> None:
        self._cache = cache
        threads = f"{tf.config.threading.get_intra_op_parallelism_threads()} {os.environ.get('OMP_NUM_THREADS', '')}"
        machine = f"tensorflow {tf.__version__} {processor()} {threads} {os.cpu_count()}"
        units = [(signature(unit), unit.reads, unit.makes) for unit in program.units]
        self._key = f"{machine} {hashlib.sha256(repr(units).encode()).hexdigest()}"

    def read(self) -> tuple[Sharing, list[UnitCost]] | None:
        """What ops share, and costs."""
        return self._cache.read("tensorflow", self._key, _costs_from)

    def write(self, sharing: Sharing, costs: Sequence[UnitCost]) -> None:
        """For the next time."""
        rows = [[cost.cost, cost.workspace, cost.more] for cost in costs]
        names = [sorted(kind) for kind in (sharing.aliases, sharing.writers, sharing.fused)]
        self._cache.write("tensorflow", self._key, json.dumps([*names, rows]))


def _costs_from(text: str) -> tuple[Sharing, list[UnitCost]]:
    aliases, writers, fused, rows = json.loads(text)
    if not all(isinstance(name, str) for name in [*aliases, *writers, *fused]):
        raise ValueError("names of ops are text")
    return Sharing(frozenset(aliases), frozenset(writers), frozenset(fused)), [UnitCost(*map(_amount, row)) for row in rows]


def _amount(number: object) -> int:
    if type(number) is not int or not 0 <= number <= _LARGEST_RECORDED:
        raise ValueError(f"{number!r:.60} is no amount")
    return number


def sizes(program: Program, costs: Sequence[UnitCost]) -> list[int]:
    """Bytes of each storage, with what was measured where shapes do not tell."""
    found = [storage.bytes for storage in program.storages]
    for unit, cost in zip(program.units, costs, strict=True):
        opaque = [s for s in unit.makes if not program.storages[s].known]
        if opaque:
            found[opaque[0]] += cost.more
    return found
