"""A plan as a Python function: one line per call, every value dropped right after its last use."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import fx

from checkmate.torch.fx_utils import nodes_in
from checkmate.torch.pause import Pause
from checkmate.torch.randomness import random_state, set_random_state
from checkmate.torch.schedule import Invocation, Randomness, Run, Schedule

StepFunction = Callable[[Sequence[torch.Tensor]], Any]


class Observer(Protocol):
    """Watches a run step by step."""

    def begin(self, number: int) -> None:
        """Before step `number`, after everything that the one before frees is dropped."""

    def end(self, number: int, made: list[torch.Tensor | None]) -> None:
        """After it, before anything is dropped: a tensor of each storage that it made; None if nobody reads that."""


def generate(schedule: Schedule, observer: Observer | None = None, *, pauses: bool = False) -> StepFunction:
    """A function of the step's inputs that returns its results.

    With `pauses`, a generator, which yields what a pause shows and is sent what it awaits.
    """
    writer = _Writer(schedule, pauses)
    for number, run in enumerate(schedule.runs):
        writer.run(number, run, observer)
    return writer.function()


@contextlib.contextmanager
def below_autograd() -> Iterator[None]:
    """How generated code is run: no history is recorded, and no cast is added to those that were traced.

    Gradient mode is on, as in a forward pass: oneDNN's recurrent layers make what their backward pass reads only then.
    """
    with torch.enable_grad(), torch._C._DisableAutocast(), torch._C._AutoDispatchBelowAutograd():
        yield


class _Writer:
    def __init__(self, schedule: Schedule, pauses: bool) -> None:
        self.schedule = schedule
        self.pauses = pauses
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.constants: dict[int, str] = {}
        self.taken = {node.name for node in schedule.program.trace.graph.nodes}

    def run(self, number: int, run: Run, observer: Observer | None) -> None:
        if observer is not None:
            self._apply(observer.begin, repr(number))
        if run.randomness is Randomness.REMEMBER:
            self._assign(self._own_name(f"random_{run.unit}"), random_state, self._device())
        elif run.randomness is Randomness.REPEAT:
            self._assign(self._own_name("random_now"), random_state, self._device())
            self._apply(set_random_state, self._own_name(f"random_{run.unit}"), self._device())
        for invocation in run.invocations:
            self._invoke(invocation)
        if run.randomness is Randomness.REPEAT:
            self._apply(set_random_state, self._own_name("random_now"), self._device())
        if observer is not None:
            made = ", ".join("None" if node is None else node.name for node in run.made)
            self._apply(observer.end, repr(number), f"[{made}]")
        if run.drops:
            self.lines.append("del " + ", ".join(node.name for node in run.drops))

    def function(self) -> StepFunction:
        """The lines so far as a function; its source is its documentation."""
        for invocation in self.schedule.views:
            self._invoke(invocation)
        names = ", ".join(node.name for node in self.schedule.program.trace.inputs)
        body = "\n    ".join([f"{names}, = inputs", *self.lines, f"return {self._literal(self.schedule.results)}"])
        source = f"def run(inputs):\n    {body}\n"
        scope = dict(self.names)
        exec(compile(source, "<checkmate plan>", "exec"), scope)
        run: StepFunction = scope["run"]
        run.__doc__ = source
        return run

    def _device(self) -> str:
        return self._constant(self.schedule.program.trace.device)

    def _apply(self, function: Any, *arguments: str) -> None:
        self.lines.append(f"{self._constant(function)}({', '.join(arguments)})")

    def _assign(self, name: str, function: Any, *arguments: str) -> None:
        self.lines.append(f"{name} = {self._constant(function)}({', '.join(arguments)})")

    def _invoke(self, invocation: Invocation) -> None:
        applied, results = self._application(invocation), invocation.results
        if isinstance(invocation.target, Pause) and self.pauses:
            awaited = "".join(f"{node.name}, " for _, node in results)
            self.lines.append(f"{awaited and awaited + '= '}yield {self._literal(nodes_in(invocation.args))}")
        elif not results:
            self.lines.append(applied)
        elif results[0][0] is None:
            self.lines.append(f"{results[0][1].name} = {applied}")
        else:
            name = invocation.node.name
            self.lines.append(f"{name} = {applied}")
            self.lines += [f"{element.name} = {name}[{position}]" for position, element in results]
            self.lines.append(f"del {name}")

    def _application(self, invocation: Invocation) -> str:
        target = invocation.target
        # `_op` is what an overload calls: one Python frame less per call.
        function = self._constant(target._op if isinstance(target, torch._ops.OpOverload) else target)
        named = [f"{k}={self._literal(v)}" for k, v in invocation.kwargs.items()]
        return f"{function}({', '.join([*map(self._literal, invocation.args), *named])})"

    def _literal(self, given: Any) -> str:
        if isinstance(given, fx.Node):
            return given.name
        if isinstance(given, (list, tuple)):
            return "[" + ", ".join(map(self._literal, given)) + "]"
        if given is None or isinstance(given, (bool, int, str)) or (isinstance(given, float) and math.isfinite(given)):
            return repr(given)
        return self._constant(given)

    def _constant(self, constant: Any) -> str:
        key = id(constant)
        if key not in self.constants:
            self.constants[key] = self._own_name(f"_{len(self.constants)}")
            self.names[self.constants[key]] = constant
        return self.constants[key]

    def _own_name(self, wanted: str) -> str:
        """One that no value has: ops, from which values have their names, can be named anything."""
        while wanted in self.taken:
            wanted += "_"
        return wanted
