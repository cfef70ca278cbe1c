"""Runs of a step that measure it: in its order and on its values, so that caches and pages are as they will be."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch

from checkmate import Error
from checkmate.frontend.machine import trim_heap
from checkmate.torch.addresses import Log, UnitAllocations, planned_addresses, unit_allocations
from checkmate.torch.codegen import Observer, StepFunction, generate
from checkmate.torch.ir import Program
from checkmate.torch.memory import PartPeaks, allocated_bytes
from checkmate.torch.optimizer import Saved, Update
from checkmate.torch.runtime import NativeStep, extension_for
from checkmate.torch.schedule import schedule


@dataclass(frozen=True)
class Rehearsal:
    """Units in an order in which they can run, with the storages to free after each."""

    steps: Sequence[int]
    frees: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Sizes:
    """Of each unit, as the allocator's events tell them."""

    workspace: list[int]  # bytes in addition to what it makes
    made: list[tuple[int, ...]]  # bytes of each storage that it makes


class TimedRuns(Protocol):
    """Runs of a rehearsal."""

    @property
    def allocations(self) -> Sequence[UnitAllocations | None]:
        """Of each unit, as far as they are known."""

    def seconds(self) -> list[float]:
        """Of each step of one run, the release of what it frees included."""


def measured_sizes(program: Program, rehearsal: Rehearsal, inputs: Sequence[torch.Tensor]) -> Sizes:
    """Runs it once."""
    memory = _MemoryWatch(program, rehearsal)
    workspace = memory.workspace(_rehearsed(program, rehearsal, memory), inputs)
    return Sizes(workspace, memory.made)


def timed_runs(program: Program, rehearsal: Rehearsal, inputs: Sequence[torch.Tensor]) -> TimedRuns:
    """As the step will run: in C++ and in an arena, if it can."""
    if (extension := extension_for(program)) is not None:
        return _NativeRuns(extension, program, rehearsal, inputs)
    return _GeneratedRuns(program, rehearsal, inputs)


def safe_inputs(program: Program, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies of what the step writes into, the others as they are."""
    written = {
        node
        for unit in program.units
        if unit.effect and not isinstance(unit.calls[0].target, Update)
        for each in unit.calls
        for node in each.node.all_input_nodes
    }
    return [t.clone() if node in written else t for node, t in zip(program.trace.inputs, inputs, strict=True)]


class _NativeRuns:
    """By the runtime, in an arena: pages are there from the second run on."""

    def __init__(self, extension: Any, program: Program, rehearsal: Rehearsal, inputs: Sequence[torch.Tensor]) -> None:
        planned = schedule(program, rehearsal.steps, rehearsal.frees, [])
        self._inputs = list(inputs)
        self._updates = _updates(program, rehearsal)
        self._update_seconds: list[float] = []
        self._step = NativeStep(extension, planned, [], partial(_undone, self._update_seconds))
        _, events, runs, values = self._step.native.record(self._inputs, [], [])
        self.allocations = unit_allocations(planned, self._step, Log(events, runs, values))
        trim_heap()  # the arena takes its place
        addresses = planned_addresses(program, self.allocations, rehearsal.steps, rehearsal.frees)
        self._step.native.place(addresses.allocations, addresses.size)
        self._step.native.time(self._inputs)

    def seconds(self) -> list[float]:
        self._update_seconds.clear()
        *seconds, _views = (each / 1e9 for each in self._step.native.time(self._inputs))
        for number, alone in zip(self._updates, self._update_seconds, strict=True):
            seconds[number] = alone
        return seconds


def _undone(seconds: list[float], target: Any) -> Any:
    """The target, or an update that is undone right after it, and that says how long it took."""
    if not isinstance(target, Update):
        return target

    def update(value: torch.Tensor, gradient: torch.Tensor) -> None:
        saved = target.optimizer.backup(target.parameter)
        begin = time.perf_counter()
        target(value, gradient)
        seconds.append(time.perf_counter() - begin)
        target.optimizer.restore(target.parameter, saved)

    return update


class _GeneratedRuns(Observer):
    """By generated Python code."""

    def __init__(self, program: Program, rehearsal: Rehearsal, inputs: Sequence[torch.Tensor]) -> None:
        self.allocations: list[UnitAllocations | None] = [None] * len(program.units)
        self._inputs = inputs
        self._run = _rehearsed(program, rehearsal, self)
        self._device = program.trace.device
        self._updates = _updates(program, rehearsal)
        self._begun: list[float] = []
        self._ended: list[float] = []

    def seconds(self) -> list[float]:
        self._begun, self._ended = [], []
        self._run(self._inputs)
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


def _rehearsed(program: Program, rehearsal: Rehearsal, observer: Observer) -> StepFunction:
    run = generate(schedule(program, rehearsal.steps, rehearsal.frees, []), _Undone(program, rehearsal, observer))

    def explained(inputs: Sequence[torch.Tensor]) -> None:
        try:
            run(inputs)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise Error(f"the captured step fails when it runs: {type(error).__name__}: {reason}") from error

    return explained


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
