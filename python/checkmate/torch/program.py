"""A captured step as units of work over blocks of storage: what a plan orders and the executor runs.

A *storage* is a block of memory. Views, reshapes and transposes are not units: they belong to the storage of their
base and are made again next to whoever reads them. A *unit* is an aten op that makes new storages, together with
the ops, most of them pointwise, that may write over its result in place:

    convolution -> native_batch_norm -> relu        units: [convolution] [native_batch_norm, relu_]

Writing in place costs a plan nothing: the value in between is read by no one else and has the same size, so to keep
it is never better than to keep what replaces it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from checkmate.torch.capture import Capture
from checkmate.torch.errors import CaptureError
from checkmate.torch.nodes import getitem, is_getitem, nodes_in, overload, storage_address, tensors_of, value

aten = torch.ops.aten

# Beside pointwise ops, those that write into a part of their first argument, or over all of it.
_WRITING = {"copy", "fill", "index_add", "index_put", "masked_fill", "scatter", "scatter_add"}
# In-place forms that are not found by appending `_` to the name.
_IN_PLACE = {aten.bernoulli.p: aten.bernoulli_.float}
_COMMUTATIVE = {aten.add.Tensor, aten.mul.Tensor}
_EFFECT_NAMESPACES = {"c10d", "_c10d_functional", "c10d_functional"}


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
    once: bool = False  # random, or with an effect: never runs again

    @property
    def node(self) -> fx.Node:
        """Of its first op."""
        return self.calls[0].node

    @property
    def writes_resident(self) -> bool:
        """Whether it changes what the step did not make, such as the gradients of earlier steps."""
        return not self.makes

    @property
    def phase(self) -> str:
        """`forward`, `backward` or `update`."""
        return str(self.node.meta.get("custom", {}).get("phase", "backward"))

    @property
    def module(self) -> str:
        """The module whose forward pass ran the op; empty in the backward pass."""
        return str(self.node.meta.get("custom", {}).get("module", ""))


@dataclass
class Program:
    """Units in the order in which the step runs them."""

    capture: Capture
    units: list[Unit]
    storages: list[Storage]
    storage_of: dict[fx.Node, int]  # of each node with one tensor, or with several views of one storage
    results: dict[tuple[fx.Node, int], fx.Node]  # the first getitem of each output of a node with several

    @property
    def residents(self) -> list[fx.Node]:
        """The inputs of the step, then the constants: what the executor is handed, in order."""
        return [node for node in self.storage_of if node.op in ("placeholder", "get_attr")]


def lower(capture: Capture) -> Program:
    """Time linear in the graph."""
    return _Lowering(capture).program()


def is_random(node: fx.Node) -> bool:
    """Whether it draws random numbers."""
    op = overload(node)
    if op is None or torch.Tag.nondeterministic_seeded not in op.tags:
        return False
    # Attention carries the tag for the sake of its dropout.
    return bool(_argument(node, "dropout_p", default=None) != 0.0)


def _argument(node: fx.Node, name: str, default: Any) -> Any:
    op = overload(node)
    for position, argument in enumerate(op._schema.arguments if op else []):
        if argument.name == name:
            given = node.args[position] if position < len(node.args) else node.kwargs.get(name)
            return argument.default_value if given is None else given
    return default


def _has_effect(node: fx.Node) -> bool:
    op = overload(node)
    return op is None or op.namespace in _EFFECT_NAMESPACES or op._schema.is_mutable


def _extent(tensor: torch.Tensor) -> int:
    """Bytes from the first to the last element."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def _allocated(nbytes: int, device: torch.device) -> int:
    """Bytes as the device's allocator rounds them."""
    return -(-nbytes // 512) * 512 if device.type == "cuda" else nbytes


class _Lowering:
    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.needed = _needed(capture)
        self.storages: list[Storage] = []
        self.storage_of: dict[fx.Node, int] = {}
        self.results: dict[tuple[fx.Node, int], fx.Node] = {}
        self.units: list[Unit] = []
        self._by_address: dict[int, int] = {}

    def program(self) -> Program:
        for node in self.capture.graph.nodes:
            if node not in self.needed:
                continue
            if node.op in ("placeholder", "get_attr"):
                self._add_resident(node)
            elif is_getitem(node):
                self._add_getitem(node)
            elif node.op == "call_function":
                self._add_call(node)
        self._mark_outputs()
        _InPlace(self).fuse()
        return Program(self.capture, self.units, self.storages, self.storage_of, self.results)

    def _add_resident(self, node: fx.Node) -> None:
        tensor = self.capture.constants[str(node.target)] if node.op == "get_attr" else value(node)
        for storage in self._remember(node, [tensor], unit=None):
            # A batch may be a slice of a whole data set, which is none of the step's.
            self.storages[storage].bytes = _allocated(_extent(tensor), self.capture.device)

    def _add_getitem(self, node: fx.Node) -> None:
        self.results.setdefault(getitem(node), node)
        self.storage_of[node] = self._by_address[storage_address(value(node))]

    def _add_call(self, node: fx.Node) -> None:
        tensors = tensors_of(value(node))
        known = [storage_address(t) in self._by_address for t in tensors]
        effect = _has_effect(node)
        if tensors and all(known) and not effect:
            self.storage_of[node] = self._by_address[storage_address(tensors[0])]
            return
        if any(known) and not effect:
            raise CaptureError(
                f"the op {node.target} returns new memory and a view of its input at once, which no plan can follow: "
                "compute the two separately"
            )
        unit = len(self.units)
        reads = list(dict.fromkeys(self.storage_of[a] for a in node.all_input_nodes))
        makes = self._remember(node, tensors, unit)
        self.units.append(Unit([Call(node, node.target)], reads, makes, effect or is_random(node)))

    def _remember(self, node: fx.Node, tensors: list[torch.Tensor], unit: int | None) -> list[int]:
        made: list[int] = []
        for tensor in tensors:
            address = storage_address(tensor)
            if address not in self._by_address:
                self._by_address[address] = len(self.storages)
                nbytes = _allocated(tensor.untyped_storage().nbytes(), self.capture.device)
                name = node.name if len(tensors) == 1 else f"{node.name}.{len(made)}"
                made.append(len(self.storages))
                self.storages.append(Storage(name, nbytes, unit))
        if tensors:
            self.storage_of[node] = self._by_address[storage_address(tensors[0])]
        return made

    def _mark_outputs(self) -> None:
        for node in _outputs(self.capture):
            storage = self.storages[self.storage_of[node]]
            storage.output = storage.unit is not None


class _InPlace:
    """Moves pointwise ops into the unit that makes what they read last, where they can write over it."""

    def __init__(self, lowering: _Lowering) -> None:
        self.units = lowering.units
        self.storages = lowering.storages
        self.storage_of = lowering.storage_of
        self.readers = [0] * len(self.storages)
        for unit in self.units:
            for storage in unit.reads:
                self.readers[storage] += 1
        self.home = list(range(len(self.units)))  # the unit into which each was moved
        self.replaced: dict[int, int] = {}

    def fuse(self) -> None:
        last_once = -1
        for index, unit in enumerate(self.units):
            unit.reads = [self._current(s) for s in unit.reads]
            position = self._overwritable(unit, last_once)
            if position is not None:
                self._move(index, position)
            if unit.once:
                last_once = self.home[index]
        self._renumber()

    def _overwritable(self, unit: Unit, last_once: int) -> int | None:
        """Which argument of the unit's op may be overwritten by its result."""
        node = unit.node
        target = in_place_form(node.target)
        if target is None or len(unit.makes) != 1 or not unit.reads:
            return None
        makers = {s: self._maker(s) for s in unit.reads}
        latest = max(unit.reads, key=lambda s: makers[s])
        storage = self.storages[latest]
        if makers[latest] < 0 or storage.output or self.readers[latest] != 1:
            return None
        if sum(maker == makers[latest] for maker in makers.values()) != 1:
            return None  # the unit would read another of its own results: keep it simple
        if unit.once and makers[latest] < last_once:
            return None  # what draws random numbers stays in order
        positions = [0, 1] if node.target in _COMMUTATIVE and node.kwargs.get("alpha", 1) == 1 else [0]
        for position in positions:
            if self._covers(node, position, latest):
                return position
        return None

    def _covers(self, node: fx.Node, position: int, storage: int) -> bool:
        """Whether the argument is the whole storage, once, in the layout of the result."""
        argument = node.args[position]
        if not isinstance(argument, fx.Node) or self._current(self.storage_of[argument]) != storage:
            return False
        others = nodes_in([[a for i, a in enumerate(node.args) if i != position], node.kwargs])
        if any(self._current(self.storage_of[other]) == storage for other in others):
            return False
        old, new = value(argument), value(node)
        return bool(
            old.shape == new.shape
            and old.stride() == new.stride()
            and old.dtype == new.dtype
            and _allocated(math.prod(old.shape) * old.element_size(), old.device) == self.storages[storage].bytes
        )

    def _move(self, index: int, position: int) -> None:
        unit = self.units[index]
        (written,) = nodes_in(unit.node.args[position])
        storage = self._current(self.storage_of[written])
        target = self.units[self._maker(storage)]
        self.home[index] = self._maker(storage)
        target.calls.append(Call(unit.node, in_place_form(unit.node.target), position))
        target.once |= unit.once
        target.reads += [s for s in unit.reads if s != storage and s not in target.reads]
        (replacing,) = unit.makes
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
                kept_storage.unit = new_unit[kept_storage.unit]


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


def _outputs(capture: Capture) -> list[fx.Node]:
    return [
        capture.loss,
        *(extra for extra in capture.extras if isinstance(extra, fx.Node)),
        *capture.gradients.values(),
        *capture.buffer_updates.values(),
    ]


def _needed(capture: Capture) -> set[fx.Node]:
    """What the outputs need, what draws random numbers or has an effect, and what those need."""
    needed: set[fx.Node] = set(capture.placeholders)
    wanted = [
        node
        for node in capture.graph.nodes
        if node.op == "call_function" and not is_getitem(node) and (_has_effect(node) or is_random(node))
    ]
    wanted += _outputs(capture)
    while wanted:
        node = wanted.pop()
        if node not in needed:
            needed.add(node)
            wanted += node.all_input_nodes
    return needed
