"""A training step as units of work over blocks of storage: what a plan orders and generated code runs.

A *storage* is a block of memory. Views, reshapes and transposes are not units: they belong to the storage of their
base and are made again next to whoever reads them. A *unit* is an aten op that makes new storages, together with
the ops, most of them pointwise, that may write over its result in place:

    convolution -> native_batch_norm -> relu        units: [convolution] [native_batch_norm, relu_]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import fx

from checkmate.torch.captured import Captured
from checkmate.torch.fx_utils import Origin, origin


@dataclass
class Storage:
    """A block of memory."""

    name: str
    bytes: int
    unit: int | None  # the one that makes it; None: resident
    output: bool = False


@dataclass
class Call:
    """One aten op of a unit. With `target` the in-place form, the value at `written` is overwritten."""

    node: fx.Node
    target: Any
    written: int | None = None  # which argument

    @property
    def arguments(self) -> list[Any]:
        """As `target` takes them: what is written comes first."""
        arguments = list(self.node.args)
        if self.written is not None:
            arguments.insert(0, arguments.pop(self.written))
        return arguments


@dataclass
class Unit:
    """What runs as a whole."""

    calls: list[Call]
    reads: list[int] = field(default_factory=list)  # storages
    makes: list[int] = field(default_factory=list)
    effect: bool = False  # it writes into an input, or talks to other processes: it runs exactly once
    random: bool = False  # it draws random numbers: running it again takes the generator's state of the first time

    @property
    def node(self) -> fx.Node:
        """Of its first op."""
        return self.calls[0].node

    @property
    def ordered(self) -> bool:
        """Whether its first run must keep its place among other such units."""
        return self.effect or self.random

    @property
    def origin(self) -> Origin:
        """Where its first op comes from."""
        return origin(self.node)


@dataclass
class Program:
    """Units in the order in which the step runs them."""

    trace: Captured
    units: list[Unit]
    storages: list[Storage]
    storage_of: dict[fx.Node, int]  # of each node with one tensor, or with several views of one storage
    results: dict[tuple[fx.Node, int], fx.Node]  # the first getitem of each output of a node with several
