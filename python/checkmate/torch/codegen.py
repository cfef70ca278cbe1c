"""A plan as a Python function: one line per run, every value dropped right after its last use."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import fx

from checkmate.torch.fx_utils import getitem, is_getitem, nodes_in, value
from checkmate.torch.ir import Call, Program
from checkmate.torch.randomness import random_state, set_random_state

Run = Callable[[Sequence[torch.Tensor]], Any]


aten = torch.ops.aten
_RESHAPES = {aten.view.default: aten.reshape.default, aten._unsafe_view.default: aten.reshape.default}


class Observer(Protocol):
    """Watches a run step by step."""

    def begin(self, number: int) -> None:
        """Before step `number`, after everything that the one before frees is dropped."""

    def end(self, number: int, made: list[torch.Tensor | None]) -> None:
        """After it, before anything is dropped: a tensor of each storage that it made; None if nobody reads that."""


def generate(
    program: Program,
    steps: Sequence[int],
    frees: Sequence[Sequence[int]],
    results: Any,
    observer: Observer | None = None,
) -> Run:
    """A function of the step's inputs that runs the units in this order.

    `frees` are the storages to drop after each step; `results` is what it returns, any nesting of lists with nodes.
    """
    runs = Counter(steps)
    writer = _Writer(program, again={unit for unit in runs if runs[unit] > 1})
    begin, end = (observer.begin, observer.end) if observer is not None else (None, None)
    for number, (unit, freed) in enumerate(zip(steps, frees, strict=True)):
        if begin is not None:
            writer.apply(begin, repr(number))
        writer.run(unit)
        if end is not None:
            writer.apply(end, repr(number), writer.made_by(unit))
        writer.drop(freed)
    return writer.function(results)


@contextlib.contextmanager
def below_autograd() -> Iterator[None]:
    """How generated code is run: no history is recorded, and no cast is added to those that were traced.

    Gradient mode is on, as in a forward pass: oneDNN's recurrent layers make what their backward pass reads only then.
    """
    with torch.enable_grad(), torch._C._DisableAutocast(), torch._C._AutoDispatchBelowAutograd():
        yield


class _Writer:
    def __init__(self, program: Program, again: set[int]) -> None:
        self.program = program
        self.again = again  # units that run more than once
        self.saved: set[int] = set()  # random units whose generator state is in a variable
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.constants: dict[int, str] = {}
        self.alive: dict[int, list[fx.Node]] = {}  # the variables of each storage
        self.made: set[fx.Node] = set(program.trace.inputs)

    def run(self, unit: int) -> None:
        """Writes the calls of the unit, and the views that they read."""
        replay = self.program.units[unit].random and unit in self.again
        if replay and unit in self.saved:
            self._assign("random_now", random_state, self._device())
            self.apply(set_random_state, f"random_{unit}", self._device())
        elif replay:
            self._assign(f"random_{unit}", random_state, self._device())
        for call in self.program.units[unit].calls:
            self._call(call)
        if replay and unit in self.saved:
            self.apply(set_random_state, "random_now", self._device())
        elif replay:
            self.saved.add(unit)

    def made_by(self, unit: int) -> str:
        """A list of a variable of each storage that the unit has just made."""
        makes = self.program.units[unit].makes
        return f"[{', '.join(self.alive[s][0].name if self.alive.get(s) else 'None' for s in makes)}]"

    def apply(self, function: Any, *arguments: str) -> None:
        """Writes a call."""
        self.lines.append(f"{self._constant(function)}({', '.join(arguments)})")

    def drop(self, storages: Sequence[int]) -> None:
        """Forgets every variable of the storages: what holds no reference is free."""
        dropped = [node for storage in storages for node in self.alive.pop(storage, [])]
        if dropped:
            self.lines.append("del " + ", ".join(node.name for node in dropped))
            self.made.difference_update(dropped)

    def function(self, results: Any) -> Run:
        """The lines so far as a function; its source is its documentation."""
        self._make_all(results)
        names = ", ".join(node.name for node in self.program.trace.inputs)
        body = "\n    ".join([f"{names}, = inputs", *self.lines, f"return {self._literal(results)}"])
        source = f"def run(inputs):\n    {body}\n"
        scope = dict(self.names)
        exec(compile(source, "<checkmate plan>", "exec"), scope)
        run: Run = scope["run"]
        run.__doc__ = source
        return run

    def _device(self) -> str:
        return self._constant(self.program.trace.device)

    def _assign(self, name: str, function: Any, *arguments: str) -> None:
        self.lines.append(f"{name} = {self._constant(function)}({', '.join(arguments)})")

    def _call(self, call: Call) -> None:
        node = call.node
        self._make_all([node.args, node.kwargs])
        applied = self._application(call.target, call.arguments, node.kwargs)
        if node not in self.program.storage_of:  # it makes nothing
            self.lines.append(applied)
            return
        self.lines.append(f"{node.name} = {applied}")
        if not isinstance(value(node), (tuple, list)):
            self._born(node)
            return
        for (source, position), element in self._elements(node):
            self.lines.append(f"{element.name} = {source.name}[{position}]")
            self._born(element)
        self.lines.append(f"del {node.name}")

    def _elements(self, node: fx.Node) -> list[tuple[tuple[fx.Node, int], fx.Node]]:
        found = []
        for position in range(len(value(node))):
            element = self.program.results.get((node, position))
            if element is not None:
                found.append(((node, position), element))
        return found

    def _make_all(self, arguments: Any) -> None:
        for node in nodes_in(arguments):
            self._make(node)

    def _make(self, node: fx.Node) -> None:
        """A view, next to its first user since its storage was made."""
        if node in self.made:
            return
        if is_getitem(node):
            source, position = getitem(node)
            first = self.program.results[(source, position)]
            if first is not node:
                self._make(first)
                self.lines.append(f"{node.name} = {first.name}")
            else:
                self._make(source)
                self.lines.append(f"{node.name} = {source.name}[{position}]")
        else:
            self._make_all([node.args, node.kwargs])
            self.lines.append(f"{node.name} = {self._application(node.target, node.args, node.kwargs)}")
        self._born(node)

    def _born(self, node: fx.Node) -> None:
        self.made.add(node)
        self.alive.setdefault(self.program.storage_of[node], []).append(node)

    def _application(self, target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        # Some kernels return other strides than their fake forms say; where a view is not possible then, a copy is as good.
        target = _RESHAPES.get(target, target)
        # `_op` is what an overload calls: one Python frame less per call.
        function = self._constant(target._op if isinstance(target, torch._ops.OpOverload) else target)
        given = [self._literal(a) for a in args] + [f"{k}={self._literal(v)}" for k, v in kwargs.items()]
        return f"{function}({', '.join(given)})"

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
            self.constants[key] = f"_{len(self.constants)}"
            self.names[self.constants[key]] = constant
        return self.constants[key]
