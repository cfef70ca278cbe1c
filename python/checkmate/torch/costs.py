"""What each unit of a program costs on the device that will run it: time, workspace, and the real size of its results.

Units are timed in the step, in its order and on its values, so that caches and fresh pages are as they will be. Fake tensors
know shapes; how much memory a kernel takes for its results only the kernel knows (`mse_loss` returns one element in a storage
as large as the prediction). The allocator's record is the truth.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import fx
from torch.utils.flop_counter import flop_registry

from checkmate import Error
from checkmate.torch.addresses import Log, UnitAllocations, unit_allocations
from checkmate.torch.cache import Cache, machine
from checkmate.torch.codegen import Observer, StepFunction, below_autograd, generate
from checkmate.torch.fx_utils import call, getitem, is_getitem, overload, tensors_of, value
from checkmate.torch.ir import Program, Unit
from checkmate.torch.memory import PartPeaks, allocated_bytes
from checkmate.torch.optimizer import Saved, Update
from checkmate.torch.runtime import NativeStep, extension_for
from checkmate.torch.schedule import schedule

Progress = Callable[[int, int], None]

_FEWEST_RUNS, _MOST_RUNS = 3, 12
_SECONDS = 1.0  # of timed runs, where more than the fewest are taken
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
) -> list[UnitCost]:
    """Nanoseconds, workspace and sizes of each unit, remembered in the cache.

    `inputs` are values in the order of the step's signature. `rehearsal` is the order in which units are run to measure them.
    """
    signatures = [signature(unit) for unit in program.units]
    runtime = "c++" if extension_for(program) else "python"
    key = f"{machine(program.trace.device)} {runtime} {hashlib.sha256(repr(signatures).encode()).hexdigest()}"
    known = _costs_from(cache.read("costs", key), program)
    if known is not None:
        return known
    costs = _measure(program, inputs, rehearsal, signatures, progress)
    cache.write("costs", key, [_record_of(cost) for cost in costs])
    return costs


def estimated_costs(program: Program) -> list[UnitCost]:
    """Without measuring: floating-point operations, or what moving the unit's bytes is worth, if that is more."""
    return [UnitCost(max(_flops(unit), _FLOPS_PER_BYTE * _moved_bytes(program, unit))) for unit in program.units]


@dataclass(frozen=True)
class Rehearsal:
    """Units in an order in which they can run, with the storages to free after each."""

    steps: Sequence[int]
    frees: Sequence[Sequence[int]]


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
    program: Program, inputs: Sequence[torch.Tensor], rehearsal: Rehearsal, signatures: list[str], progress: Progress | None
) -> list[UnitCost]:
    device = program.trace.device
    inputs = _safe_inputs(program, inputs)
    memory, times = _MemoryWatch(program, rehearsal), _Stopwatch(program, rehearsal)
    samples: dict[str, list[float]] = {each: [] for each in signatures}
    with below_autograd(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        workspace = memory.workspace(_rehearsed(program, rehearsal, memory), inputs)
        allocations = _recorded(program, rehearsal, inputs)
        run = _rehearsed(program, rehearsal, times)
        begin = time.perf_counter()
        for done in range(_MOST_RUNS):
            if progress:
                progress(done, _MOST_RUNS)
            for unit, seconds in zip(rehearsal.steps, times.seconds(run, inputs), strict=True):
                samples[signatures[unit]].append(seconds)
            if done + 1 >= _FEWEST_RUNS and time.perf_counter() - begin > _SECONDS:
                break
    # Whatever else the machine does makes a run longer, never shorter.
    typical = {key: statistics.quantiles(seconds, n=4)[0] for key, seconds in samples.items()}
    return [
        UnitCost(max(1, round(typical[key] * 1e9)), workspace[unit], memory.made[unit], allocations[unit])
        for unit, key in enumerate(signatures)
    ]


def _recorded(program: Program, rehearsal: Rehearsal, inputs: Sequence[torch.Tensor]) -> Sequence[UnitAllocations | None]:
    """What each unit allocates when the runtime runs it."""
    extension = extension_for(program)
    if extension is None:
        return [None] * len(program.units)
    planned = schedule(program, rehearsal.steps, rehearsal.frees, [])
    step = NativeStep(extension, planned, [], _undone)
    _, events, runs, values = step.native.record(list(inputs), [], [])
    return unit_allocations(planned, step, Log(events, runs, values))


def _undone(target: Any) -> Any:
    """The target, or an update that is undone right after it."""
    if not isinstance(target, Update):
        return target

    def update(value: torch.Tensor, gradient: torch.Tensor) -> None:
        saved = target.optimizer.backup(target.parameter)
        target(value, gradient)
        target.optimizer.restore(target.parameter, saved)

    return update


def _rehearsed(program: Program, rehearsal: Rehearsal, observer: Observer) -> StepFunction:
    run = generate(schedule(program, rehearsal.steps, rehearsal.frees, []), _Undone(program, rehearsal, observer))

    def explained(inputs: Sequence[torch.Tensor]) -> None:
        try:
            run(inputs)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise Error(f"the captured step fails when it runs: {type(error).__name__}: {reason}") from error

    return explained


def _safe_inputs(program: Program, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies of what the step writes into, the others as they are."""
    written = {
        node
        for unit in program.units
        if unit.effect and not isinstance(unit.calls[0].target, Update)
        for each in unit.calls
        for node in each.node.all_input_nodes
    }
    return [t.clone() if node in written else t for node, t in zip(program.trace.inputs, inputs, strict=True)]


class _Undone(Observer):
    """Undoes each update of a parameter right after it, outside of what the inner observer sees."""

    def __init__(self, program: Program, rehearsal: Rehearsal, inner: Observer) -> None:
        self._inner = inner
        self._updates = _updates(program, rehearsal)
        self._saved: Saved | None = None

    def begin(self, number: int) -> None:
        if number in self._updates:
            update = self._updates[number]
            self._saved = update.optimizer.backup(update.parameter)
        self._inner.begin(number)

    def end(self, number: int, made: list[torch.Tensor | None]) -> None:
        self._inner.end(number, made)
        if self._saved is not None:
            update = self._updates[number]
            update.optimizer.restore(update.parameter, self._saved)
            self._saved = None


def _updates(program: Program, rehearsal: Rehearsal) -> dict[int, Update]:
    """By the number of their step."""
    targets = (program.units[unit].calls[0].target for unit in rehearsal.steps)
    return {number: target for number, target in enumerate(targets) if isinstance(target, Update)}


class _Stopwatch(Observer):
    """Times each step, the release of what it frees included."""

    def __init__(self, program: Program, rehearsal: Rehearsal) -> None:
        self._device = program.trace.device
        self._updates = _updates(program, rehearsal)
        self._begun: list[float] = []
        self._ended: list[float] = []

    def seconds(self, run: StepFunction, inputs: Sequence[torch.Tensor]) -> list[float]:
        """Of each step of the run."""
        self._begun, self._ended = [], []
        run(inputs)
        until = [*self._begun[1:], self._now()]
        for number in self._updates:  # after it, it is undone
            until[number] = self._ended[number]
        return [end - begin for begin, end in zip(self._begun, until, strict=True)]

    def begin(self, _number: int) -> None:
        self._begun.append(self._now())

    def end(self, _number: int, _made: list[torch.Tensor | None]) -> None:
        self._ended.append(time.perf_counter())

    def _now(self) -> float:
        if self._device.type == "cuda":  # not tested on a machine with a GPU
            torch.cuda.synchronize(self._device)
        return time.perf_counter()


class _MemoryWatch(Observer):
    """Records what each unit makes, and what it takes meanwhile."""

    def __init__(self, program: Program, rehearsal: Rehearsal) -> None:
        self._program = program
        self._steps = rehearsal.steps
        self._peaks = PartPeaks(program.trace.device)
        self.made: list[tuple[int, ...]] = [()] * len(program.units)

    def workspace(self, run: StepFunction, inputs: Sequence[torch.Tensor]) -> list[int]:
        """Bytes of each unit in addition to what it makes."""
        peaks = self._peaks.of(lambda: run(inputs))
        workspace = [0] * len(self._program.units)
        for unit, peak in zip(self._steps, peaks, strict=True):
            workspace[unit] = max(workspace[unit], peak - sum(self.made[unit]))
        return workspace

    def begin(self, _number: int) -> None:
        self._peaks.begin()

    def end(self, number: int, made: list[torch.Tensor | None]) -> None:
        self._peaks.end()
        storages, device = self._program.storages, self._program.trace.device
        unit = self._steps[number]
        self.made[unit] = tuple(
            storages[s].bytes if tensor is None else allocated_bytes(tensor.untyped_storage().nbytes(), device)
            for s, tensor in zip(self._program.units[unit].makes, made, strict=True)
        )


def _record_of(cost: UnitCost) -> list[Any]:
    allocations = cost.allocations
    recorded = None if allocations is None else [list(allocations.events), list(allocations.owners)]
    return [cost.cost, cost.workspace, list(cost.made), recorded]


def _costs_from(record: Any, program: Program) -> list[UnitCost] | None:
    """What the cache says, if it can be that of this program."""
    try:
        costs = [_cost_from(each, unit) for each, unit in zip(record, program.units, strict=True)]
    except (TypeError, ValueError):
        return None
    return costs


def _cost_from(record: Any, unit: Unit) -> UnitCost:
    cost, workspace, made, allocations = record
    if len(made) != len(unit.makes):
        raise ValueError(made)
    return UnitCost(_amount(cost), _amount(workspace), tuple(map(_amount, made)), _allocations_from(allocations, unit))


def _allocations_from(record: Any, unit: Unit) -> UnitAllocations | None:
    if record is None:
        return None
    events, owners = record
    made = 0
    for event in events:
        made += _amount(abs(event)) > 0 and event > 0
        if event == 0 or -event > made:
            raise ValueError(event)
    if len(owners) != made or not all(isinstance(o, int) and -2 - len(unit.reads) < o < len(unit.makes) for o in owners):
        raise ValueError(owners)
    return UnitAllocations(tuple(events), tuple(owners))


def _amount(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 62:
        raise ValueError(number)
    return number


def _flops(unit: Unit) -> int:
    total = 0
    for each in unit.calls:
        op = overload(each.node)
        count = flop_registry.get(op.overloadpacket) if op else None
        if count is not None:
            total += int(call(partial(count, out_val=value(each.node)), each.node.args, each.node.kwargs, value))
    return total


def _moved_bytes(program: Program, unit: Unit) -> int:
    return sum(program.storages[s].bytes for s in [*unit.reads, *unit.makes])
