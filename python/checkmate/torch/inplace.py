"""Pointwise ops that write over what they read, as eager PyTorch does where the model says so.

Writing in place costs a plan nothing: the value in between is read by no one else and has the same size, so to keep
it is never better than to keep what replaces it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from checkmate.torch.fused.kernels import FusedKernel
from checkmate.torch.fx_utils import nodes_in, tensors_of, value
from checkmate.torch.ir import Call, Program, Unit
from checkmate.torch.memory import allocated_bytes
from checkmate.torch.pause import Apart

aten = torch.ops.aten

# In addition to pointwise ops, those that write into a part of their first argument, or over all of it.
_WRITING = {"copy", "fill", "index_add", "index_put", "masked_fill", "scatter", "scatter_add"}
# In-place forms that are not found by appending `_` to the name.
_IN_PLACE = {aten.bernoulli.p: aten.bernoulli_.float}
_COMMUTATIVE = {aten.add.Tensor, aten.mul.Tensor}
_SMALL_SHARE = 4  # other results may take a quarter of the bytes that are saved


def write_in_place(program: Program) -> None:
    """Moves each op that can write over its input into the unit that makes that input. Time linear in the program."""
    _InPlace(program).fuse()


@dataclass(frozen=True)
class _Write:
    """An argument that a result may be written over, and the op that does it: the argument comes first there."""

    argument: int
    result: int
    form: Callable[[], Any]


def possible_writes(node: fx.Node) -> list[_Write]:
    """Of an op, if the layouts allow it."""
    if isinstance(node.target, FusedKernel):
        pairs = itertools.product(range(len(node.args)), range(len(value(node))))
        return [_Write(a, r, partial(node.target.in_place, a, r)) for a, r in pairs if node.target.can_overwrite(a, r)]
    form = in_place_form(node.target)
    if form is None or len(tensors_of(value(node))) != 1:
        return []
    swapped = node.target in _COMMUTATIVE and node.kwargs.get("alpha", 1) == 1
    return [_Write(position, 0, lambda: form) for position in range(2 if swapped else 1)]


class _InPlace:
    """An op is moved into the unit that makes what it reads last, if nobody else reads that."""

    def __init__(self, program: Program) -> None:
        self.units = program.units
        self.storages = program.storages
        self.storage_of = program.storage_of
        self.readers = [0] * len(self.storages)
        for unit in self.units:
            for storage in unit.reads:
                self.readers[storage] += 1
        self.home = list(range(len(self.units)))  # the unit into which each was moved
        self.replaced: dict[int, int] = {}

    def fuse(self) -> None:
        last_ordered = -1
        for index, unit in enumerate(self.units):
            unit.reads = [self._current(s) for s in unit.reads]
            write = self._possible_write(unit, last_ordered)
            if write is not None:
                self._move(index, write)
            if unit.ordered:
                last_ordered = self.home[index]
        self._renumber()

    def _possible_write(self, unit: Unit, last_ordered: int) -> _Write | None:
        """Which argument of the unit's op may be overwritten by which of its results."""
        node = unit.node
        if not unit.reads or not unit.makes:
            return None
        makers = {s: self._maker(s) for s in unit.reads}
        latest = max(unit.reads, key=lambda s: makers[s])
        storage = self.storages[latest]
        if makers[latest] < 0 or storage.output or self.readers[latest] != 1:
            return None
        if isinstance(self.units[makers[latest]].node.target, Apart):
            return None  # the caller's tensor, or what must run alone
        if sum(maker == makers[latest] for maker in makers.values()) != 1:
            return None  # the unit would read another of its own results: keep it simple
        if unit.ordered and makers[latest] < last_ordered:
            return None  # what draws random numbers stays in order
        for write in possible_writes(node):
            others_bytes = sum(self.storages[s].bytes for s in unit.makes if s != unit.makes[write.result])
            # Who wants another result again has to make anew what was overwritten.
            if _SMALL_SHARE * others_bytes <= storage.bytes and self._covers(node, write, latest):
                return write
        return None

    def _covers(self, node: fx.Node, write: _Write, storage: int) -> bool:
        """Whether the argument is the whole storage, once, in the layout of the result."""
        argument = node.args[write.argument]
        if not isinstance(argument, fx.Node) or self._current(self.storage_of[argument]) != storage:
            return False
        others = nodes_in([[a for i, a in enumerate(node.args) if i != write.argument], node.kwargs])
        if any(self._current(self.storage_of[other]) == storage for other in others):
            return False
        old, new = value(argument), tensors_of(value(node))[write.result]
        if old.is_complex():
            return False  # kernels for complex numbers round otherwise where they read what they write
        same = old.shape == new.shape and old.stride() == new.stride()
        reshaped = isinstance(node.target, FusedKernel) and old.is_contiguous() and new.is_contiguous()
        return bool(
            (same or (reshaped and old.numel() == new.numel()))
            and old.dtype == new.dtype
            and allocated_bytes(math.prod(old.shape) * old.element_size(), old.device) == self.storages[storage].bytes
        )

    def _move(self, index: int, write: _Write) -> None:
        unit = self.units[index]
        (written,) = nodes_in(unit.node.args[write.argument])
        storage = self._current(self.storage_of[written])
        target = self.units[self._maker(storage)]
        self.home[index] = self._maker(storage)
        target.calls.append(Call(unit.node, write.form(), write.argument))
        target.effect |= unit.effect
        target.random |= unit.random
        target.reads += [s for s in unit.reads if s != storage and s not in target.reads]
        replacing = unit.makes[write.result]
        target.makes += [s for s in unit.makes if s != replacing]
        self.replaced[replacing] = storage
        self.storages[storage].output |= self.storages[replacing].output
        self.readers[storage] = self.readers[replacing]
        unit.calls = []

    def _maker(self, storage: int) -> int:
        unit = self.storages[storage].unit
        return -1 if unit is None else self.home[unit]

    def _current(self, storage: int) -> int:
        while storage in self.replaced:
            storage = self.replaced[storage]
        return storage

    def _renumber(self) -> None:
        """Leaves out units without calls and storages that were replaced."""
        new_unit = {old: new for new, old in enumerate(i for i, u in enumerate(self.units) if u.calls)}
        kept = [s for s in range(len(self.storages)) if s not in self.replaced]
        new_storage = {old: new for new, old in enumerate(kept)}
        for node, storage in self.storage_of.items():
            self.storage_of[node] = new_storage[self._current(storage)]
        self.units[:] = [u for u in self.units if u.calls]
        for unit in self.units:
            unit.reads = list(dict.fromkeys(new_storage[self._current(s)] for s in unit.reads))
            unit.makes = [new_storage[s] for s in unit.makes]
        self.storages[:] = [self.storages[s] for s in kept]
        for kept_storage in self.storages:
            if kept_storage.unit is not None:
                kept_storage.unit = new_unit[self.home[kept_storage.unit]]


def in_place_form(target: Any) -> Any | None:
    """The overload that does the same and writes into its first argument; None where there is no such."""
    if target in _IN_PLACE:
        return _IN_PLACE[target]
    if not isinstance(target, OpOverload):
        return None
    name = target._schema.name.split("::")[1]
    if torch.Tag.pointwise not in target.tags and name not in _WRITING:
        return None
    packet = getattr(getattr(torch.ops, target.namespace), name + "_", None)
    if packet is None or target._overloadname not in packet.overloads():
        return None
    form = getattr(packet, target._overloadname)
    same = [a.name for a in form._schema.arguments] == [a.name for a in target._schema.arguments]
    return form if same and form._schema.arguments[0].alias_info is not None else None
