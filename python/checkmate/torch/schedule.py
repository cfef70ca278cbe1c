"""A plan as the calls that it makes: which op on which values, and which values are dropped after each of its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch
from torch import fx

from checkmate.torch.fx_utils import getitem, is_getitem, nodes_in, value
from checkmate.torch.ir import Program

aten = torch.ops.aten
# Some kernels return other strides than their fake forms say; where a view is not possible then, a copy is as good.
_RESHAPES = {aten.view.default: aten.reshape.default, aten._unsafe_view.default: aten.reshape.default}


class Randomness(Enum):
    """How a unit that draws random numbers and runs more than once draws the same ones again."""

    NONE = "none"
    REMEMBER = "remember"  # it notes the state of the generator before it draws
    REPEAT = "repeat"  # it draws from that state, and leaves the generator as it was


@dataclass(frozen=True)
class Invocation:
    """An op on values, which are nodes among its arguments."""

    node: fx.Node
    target: Any
    args: Sequence[Any]
    kwargs: dict[str, Any]
    results: list[tuple[int | None, fx.Node]]  # which of its results are which values; None: it has one


@dataclass
class Run:
    """One step of a plan: the calls of a unit, and the views that they read."""

    unit: int
    randomness: Randomness
    invocations: list[Invocation] = field(default_factory=list)
    made: list[fx.Node | None] = field(default_factory=list)  # a value of each storage that the unit makes, if any is read
    drops: list[fx.Node] = field(default_factory=list)


@dataclass(frozen=True)
class Schedule:
    """The runs of a plan, the views that only its results need, and the results, in any nesting of lists."""

    program: Program
    runs: list[Run]
    views: list[Invocation]
    results: Any


def schedule(program: Program, steps: Sequence[int], frees: Sequence[Sequence[int]], results: Any) -> Schedule:
    """The units in this order. `frees` are the storages to drop after each step."""
    scheduler = _Scheduler(program, steps)
    runs = [scheduler.run(unit, freed) for unit, freed in zip(steps, frees, strict=True)]
    return scheduler.finish(runs, results)


class _Scheduler:
    def __init__(self, program: Program, steps: Sequence[int]) -> None:
        self.program = program
        counts = Counter(steps)
        self.again = {unit for unit in counts if counts[unit] > 1}
        self.drawn: set[int] = set()
        self.made: set[fx.Node] = set(program.trace.inputs)
        self.alive: dict[int, list[fx.Node]] = {}  # the values of each storage
        self.invocations: list[Invocation] = []

    def run(self, unit: int, freed: Sequence[int]) -> Run:
        run = Run(unit, self._randomness(unit))
        for call in self.program.units[unit].calls:
            self._invoke(call.node, call.target, call.arguments)
        run.invocations, self.invocations = self.invocations, []
        run.made = [self.alive[s][0] if self.alive.get(s) else None for s in self.program.units[unit].makes]
        run.drops = [node for storage in freed for node in self.alive.pop(storage, [])]
        self.made.difference_update(run.drops)
        return run

    def finish(self, runs: list[Run], results: Any) -> Schedule:
        results = self._values(results)
        return Schedule(self.program, runs, self.invocations, results)

    def _randomness(self, unit: int) -> Randomness:
        if not self.program.units[unit].random or unit not in self.again:
            return Randomness.NONE
        if unit in self.drawn:
            return Randomness.REPEAT
        self.drawn.add(unit)
        return Randomness.REMEMBER

    def _invoke(self, node: fx.Node, target: Any, args: Sequence[Any]) -> None:
        args, kwargs = self._values([list(args), dict(node.kwargs)])
        results = self._results(node)
        self.invocations.append(Invocation(node, _RESHAPES.get(target, target), args, kwargs, results))
        for _, result in results:
            self.made.add(result)
            self.alive.setdefault(self.program.storage_of[result], []).append(result)

    def _results(self, node: fx.Node) -> list[tuple[int | None, fx.Node]]:
        if node not in self.program.storage_of:  # it makes nothing
            return []
        if not isinstance(value(node), (tuple, list)):
            return [(None, node)]
        found = ((position, self.program.results.get((node, position))) for position in range(len(value(node))))
        return [(position, result) for position, result in found if result is not None]

    def _values(self, arguments: Any) -> Any:
        """The arguments with one node per value, each of which is there: views are made next to who reads them first."""
        arguments = fx.map_arg(arguments, self._value)
        for node in nodes_in(arguments):
            if node not in self.made:
                source = getitem(node)[0] if is_getitem(node) else node
                self._invoke(source, source.target, source.args)
        return arguments

    def _value(self, node: fx.Node) -> fx.Node:
        return self.program.results.get(getitem(node), node) if is_getitem(node) else node
