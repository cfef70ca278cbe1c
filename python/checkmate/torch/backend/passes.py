"""Runs a planned forward pass, waits, and runs its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

import torch

from checkmate.torch.backend.joint import Joint
from checkmate.torch.codegen import below_autograd, generate
from checkmate.torch.fx_utils import nodes_in
from checkmate.torch.pause import Pause
from checkmate.torch.pipeline import Planned
from checkmate.torch.runtime import NativeStep, extension_for
from checkmate.torch.schedule import Schedule, schedule

Tensors = list[torch.Tensor]


class Paused(Protocol):
    """A step between its passes, with all that it keeps."""

    def resume(self, awaited: Tensors) -> Tensors:
        """Runs the backward pass, once. Leaves the list empty, so that a tensor goes when its last reader is done."""

    def copy(self) -> Paused:
        """The same once more."""


class Passes:
    """The passes of one graph, by one plan."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        self.joint = cast(Joint, planned.program.trace)
        plan, program = planned.plan, planned.program
        scheduled = schedule(program, plan.steps, plan.frees, list(self.joint.gradients.values()))
        self._awaited = _awaited(scheduled)
        self._start = _native(planned, scheduled) or _generated(scheduled)
        self._pause = next(i for i, unit in enumerate(plan.steps) if isinstance(program.units[unit].node.target, Pause))
        late = self._read(plan.steps[self._pause + 1 :])
        inputs = program.trace.inputs[: self.input_count]
        self._late_inputs = [i for i, node in enumerate(inputs) if program.storage_of[node] in late]
        self._late_shown = [i for i, node in enumerate(self.joint.shown) if node is not None and program.storage_of[node] in late]

    @property
    def input_count(self) -> int:
        """Of the forward pass."""
        return len(self.joint.inputs) - len(self.joint.constants)

    def start(self, inputs: Tensors) -> tuple[Paused, list[torch.Tensor | None], Tensors]:
        """Runs the forward pass. Returns what it returned as well, and those tensors that others can write and that the backward
        pass reads."""
        paused, found = self._start([*inputs, *self.joint.constants])
        tensors = iter(found)
        shown = [None if node is None else next(tensors) for node in self.joint.shown]
        late = [*(inputs[i] for i in self._late_inputs), *(shown[i] for i in self._late_shown)]
        return paused, shown, [tensor for tensor in late if tensor is not None]

    def finish(self, paused: Paused, tangents: Tensors) -> list[torch.Tensor | None]:
        """Runs the backward pass, which takes the tangents out of the list. Returns the gradient of each input."""
        awaited = [tangents[i] for i in self._awaited]
        tangents.clear()
        gradients = dict(zip(self.joint.gradients, paused.resume(awaited), strict=True))
        return [gradients.get(str(number)) for number in range(self.input_count)]

    def kept_bytes(self) -> int:
        """What the forward pass leaves in memory."""
        plan, alive = self.planned.plan, set[int]()
        for unit, freed in zip(plan.steps[: self._pause], plan.frees, strict=False):
            alive.update(self.planned.program.units[unit].makes)
            alive.difference_update(freed)
        return self._bytes(alive)

    def most_kept_bytes(self) -> int:
        """What it would leave if nothing were recomputed."""
        units = self.planned.program.units
        pause = self.planned.plan.steps[self._pause]
        made = {storage for unit in units[:pause] for storage in unit.makes}
        return self._bytes(made & (self._read(range(pause, len(units)))))

    def least_kept_bytes(self) -> int:
        """What it leaves even if all else is recomputed: what it returns."""
        pause = self.planned.plan.steps[self._pause]
        made = {storage for unit in self.planned.program.units[:pause] for storage in unit.makes}
        return self._bytes(made & self._read([pause]))

    def awaited_bytes(self) -> int:
        """Of the gradients that come in."""
        return self._bytes(self.planned.program.units[self.planned.plan.steps[self._pause]].makes)

    def _read(self, units: Iterable[int]) -> set[int]:
        return {storage for unit in units for storage in self.planned.program.units[unit].reads}

    def _bytes(self, storages: Iterable[int]) -> int:
        return sum(self.planned.graph.tensors[storage].bytes for storage in storages)


Start = Callable[[Tensors], tuple[Paused, Tensors]]


def _awaited(scheduled: Schedule) -> list[int]:
    """The positions of the tangents that somebody reads, in the order in which the pause takes them."""
    pauses = [each for run in scheduled.runs for each in run.invocations if isinstance(each.target, Pause)]
    return [position or 0 for pause in pauses for position, _ in pause.results]


def _native(planned: Planned, scheduled: Schedule) -> Start | None:
    extension = extension_for(planned.program)
    if extension is None:
        return None
    step = NativeStep(extension, scheduled, nodes_in(scheduled.results), pauses=True)
    if planned.addresses is not None:
        step.native.place(planned.addresses.allocations, planned.addresses.size)

    def start(inputs: Tensors) -> tuple[Paused, Tensors]:
        paused = step.native.start(inputs)
        return paused, paused.advance()

    return start


def _generated(scheduled: Schedule) -> Start:
    run = generate(scheduled, pauses=True)

    def start(inputs: Tensors) -> tuple[Paused, Tensors]:
        paused = _PausedGenerator(run(inputs))
        return paused, paused.advance(None)

    return start


class _PausedGenerator:
    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def advance(self, awaited: Tensors | None) -> Tensors:
        try:
            with below_autograd():
                return [tensor.detach() for tensor in self._generator.send(awaited)]
        except StopIteration as end:
            return cast(Tensors, end.value)

    def resume(self, awaited: Tensors) -> Tensors:
        return self.advance(awaited)

    def copy(self) -> Paused:
        raise RuntimeError("retain_graph=True needs the runtime in C++: call the forward pass again instead")
