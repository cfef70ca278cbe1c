"""What each unit of a program costs on the device that will run it: time, workspace, and the real size of its results.

Units are timed in the step, in its order and on its values, so that caches and fresh pages are as they will be. Fake tensors
know shapes; how much memory a kernel takes for its results only the kernel knows (`mse_loss` returns one element in a storage
as large as the prediction). The allocator's record is the truth.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
from torch import fx
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop, sdpa_flop

from checkmate._cache import Cache
from checkmate.torch.addresses import UnitAllocations
from checkmate.torch.codegen import below_autograd
from checkmate.torch.fx_utils import call, getitem, is_getitem, overload, tensors_of, value
from checkmate.torch.ir import Program, Unit
from checkmate.torch.machine import machine
from checkmate.torch.rehearsal import Rehearsal, measured_sizes, safe_inputs, timed_runs
from checkmate.torch.runtime import extension_for, release_memory

Decision = TypeVar("Decision")
Progress = Callable[[int, int], None]


class Lockstep(Protocol):
    """What ranks that measure together all do: what the first of them decides."""

    def __call__(self, decide: Callable[[], Decision]) -> Decision:
        """The decision."""


def alone(decide: Callable[[], Decision]) -> Decision:
    """Where one process measures."""
    return decide()


_FEWEST_RUNS, _MOST_RUNS = 3, 12
_SECONDS = 1.0  # of timed runs, where more than the fewest are taken
# What torch's counter knows of GPUs only.
_MORE_FLOPS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: sdpa_flop,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: sdpa_backward_flop,
}
_LARGEST_RECORDED = 1 << 53  # nanoseconds and bytes of a whole step: a quarter of a year, and more than any machine has
_FLOPS_PER_BYTE = 5  # roughly what a current processor does while it moves a byte


@dataclass(frozen=True)
class UnitCost:
    """What one run takes."""

    cost: int
    workspace: int = 0  # bytes in addition to the unit's results, while it runs
    made: tuple[int, ...] = ()  # bytes of each storage that it makes; empty: as the program says
    allocations: UnitAllocations | None = None  # None: not known


def measured_costs(
    program: Program,
    inputs: Sequence[torch.Tensor],
    rehearsal: Rehearsal,
    cache: Cache,
    progress: Progress | None = None,
    in_lockstep: Lockstep = alone,
) -> list[UnitCost]:
    """Nanoseconds, workspace and sizes of each unit, remembered in the cache.

    `inputs` are values in the order of the step's signature. `rehearsal` is the order in which units are run to measure them.
    """
    signatures = [signature(unit) for unit in program.units]
    runtime = "arena" if extension_for(program) else "python"
    key = f"{machine(program.trace.device)} {runtime} {hashlib.sha256(repr(signatures).encode()).hexdigest()}"
    known = in_lockstep(lambda: cache.read("costs", key, lambda text: _costs_from(text, program)))
    if known is not None:
        return known
    costs = _measure(program, inputs, rehearsal, signatures, progress, in_lockstep)
    cache.write("costs", key, json.dumps([_record_of(cost) for cost in costs]))
    return costs


def estimated_costs(program: Program) -> list[UnitCost]:
    """Without measuring: floating-point operations, or what moving the unit's bytes is worth, if that is more."""
    return [UnitCost(max(flops_of(unit), _FLOPS_PER_BYTE * moved_bytes(program, unit))) for unit in program.units]


def signature(unit: Unit) -> str:
    """Equal for two units that do the same work."""
    internal = {each.node: f"%{i}" for i, each in enumerate(unit.calls)}
    text = []
    for each in unit.calls:
        arguments = [_signature_of(a, internal) for a in each.node.args]
        named = [f"{k}={_signature_of(v, internal)}" for k, v in sorted(each.node.kwargs.items())]
        text.append(f"{each.target}/{each.written}({','.join(arguments + named)})")
    return hashlib.sha256(";".join(text).encode()).hexdigest()


def _signature_of(argument: Any, internal: dict[fx.Node, str]) -> str:
    if isinstance(argument, fx.Node):
        source, place = getitem(argument) if is_getitem(argument) else (argument, 0)
        if source in internal:
            return f"{internal[source]}[{place}]"
        return ",".join(f"{t.dtype}{list(t.shape)}{list(t.stride())}@{t.device}" for t in tensors_of(value(argument)))
    if isinstance(argument, (list, tuple)):
        return "[" + ",".join(_signature_of(a, internal) for a in argument) + "]"
    return repr(argument)


def _measure(
    program: Program,
    inputs: Sequence[torch.Tensor],
    rehearsal: Rehearsal,
    signatures: list[str],
    progress: Progress | None,
    in_lockstep: Lockstep,
) -> list[UnitCost]:
    device = program.trace.device
    inputs = safe_inputs(program, inputs)
    samples: dict[str, list[float]] = {each: [] for each in signatures}
    with below_autograd(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        sizes = measured_sizes(program, rehearsal, inputs)
        timed = timed_runs(program, rehearsal, inputs)
        begin = time.perf_counter()
        for done in range(_MOST_RUNS):
            if progress:
                progress(done, _MOST_RUNS)
            for unit, seconds in zip(rehearsal.steps, timed.seconds(), strict=True):
                samples[signatures[unit]].append(seconds)
            if done + 1 >= _FEWEST_RUNS and in_lockstep(lambda: time.perf_counter() - begin > _SECONDS):
                break
    release_memory()  # a rehearsal takes more than the step will
    # Whatever else the machine does makes a run longer, never shorter.
    typical = {key: statistics.quantiles(seconds, n=4)[0] for key, seconds in samples.items()}
    return [
        UnitCost(max(1, round(typical[key] * 1e9)), sizes.workspace[unit], sizes.made[unit], timed.allocations[unit])
        for unit, key in enumerate(signatures)
    ]


def _record_of(cost: UnitCost) -> list[Any]:
    allocations = cost.allocations
    recorded = None if allocations is None else [list(allocations.events), list(allocations.owners)]
    return [cost.cost, cost.workspace, list(cost.made), recorded]


def _costs_from(text: str, program: Program) -> list[UnitCost]:
    """What the cache says. A ValueError or TypeError, if that cannot be about this program."""
    costs = [_cost_from(each, unit) for each, unit in zip(json.loads(text), program.units, strict=True)]
    if sum(cost.cost + cost.workspace + sum(cost.made) for cost in costs) > _LARGEST_RECORDED:
        raise ValueError("costs or sizes are larger than can be")
    return costs


def _cost_from(record: Any, unit: Unit) -> UnitCost:
    cost, workspace, made, allocations = record
    if len(made) != len(unit.makes):
        raise ValueError(f"{len(made)} results instead of {len(unit.makes)}")
    return UnitCost(_amount(cost), _amount(workspace), tuple(map(_amount, made)), _allocations_from(allocations, unit))


def _allocations_from(record: Any, unit: Unit) -> UnitAllocations | None:
    if record is None:
        return None
    events, owners = record
    made = 0
    for event in events:
        made += _amount(abs(event)) > 0 and event > 0
        if event == 0 or -event > made:
            raise ValueError(f"{event} is no event of an allocator")
    if len(owners) != made or not all(isinstance(o, int) and -2 - len(unit.reads) < o < len(unit.makes) for o in owners):
        raise ValueError("allocations without an owner")
    return UnitAllocations(tuple(events), tuple(owners))


def _amount(number: object) -> int:
    if type(number) is not int or not 0 <= number <= _LARGEST_RECORDED:
        raise ValueError(f"{number!r:.60} is no amount")
    return number


def flops_of(unit: Unit) -> int:
    """Floating-point operations of what torch's counter knows."""
    total = 0
    for each in unit.calls:
        op = overload(each.node)
        count = (flop_registry.get(op.overloadpacket) or _MORE_FLOPS.get(op.overloadpacket)) if op else None
        if count is not None:
            total += int(call(partial(count, out_val=value(each.node)), each.node.args, each.node.kwargs, value))
    return total


def moved_bytes(program: Program, unit: Unit) -> int:
    """Of what it reads and makes."""
    return sum(program.storages[s].bytes for s in [*unit.reads, *unit.makes])
