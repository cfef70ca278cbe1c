"""From a trace to a program: which nodes are units of work, and which storages they make and read."""

from __future__ import annotations

import torch
from torch import fx

from checkmate.torch.captured import Captured
from checkmate.torch.errors import CaptureError
from checkmate.torch.fx_utils import getitem, is_getitem, storage_address, tensors_of, value
from checkmate.torch.inplace import write_in_place
from checkmate.torch.ir import Call, Program, Storage, Unit
from checkmate.torch.memory import allocated_bytes
from checkmate.torch.op_traits import has_effect, is_random


def lower(trace: Captured) -> Program:
    """Units in the order of the trace, those that can write in place joined. Time linear in the graph."""
    program = _Lowering(trace).program()
    write_in_place(program)
    return program


class _Lowering:
    def __init__(self, trace: Captured) -> None:
        self.trace = trace
        self.needed = _needed(trace)
        self.storages: list[Storage] = []
        self.storage_of: dict[fx.Node, int] = {}
        self.results: dict[tuple[fx.Node, int], fx.Node] = {}
        self.units: list[Unit] = []
        self._by_address: dict[int, int] = {}

    def program(self) -> Program:
        for node in self.trace.graph.nodes:
            if node not in self.needed:
                continue
            if node.op == "placeholder":
                self._add_resident(node)
            elif is_getitem(node):
                self._add_getitem(node)
            elif node.op == "call_function":
                self._add_call(node)
        self._mark_outputs()
        return Program(self.trace, self.units, self.storages, self.storage_of, self.results)

    def _add_resident(self, node: fx.Node) -> None:
        tensor = value(node)
        for storage in self._remember(node, [tensor], unit=None):
            # A batch may be a slice of a whole data set, which is none of the step's.
            self.storages[storage].bytes = allocated_bytes(_extent(tensor), self.trace.device)

    def _add_getitem(self, node: fx.Node) -> None:
        self.results.setdefault(getitem(node), node)
        self.storage_of[node] = self._by_address[storage_address(value(node))]

    def _add_call(self, node: fx.Node) -> None:
        tensors = tensors_of(value(node))
        if any(tensor.layout != torch.strided for tensor in tensors):
            raise CaptureError(
                f"the op {node.target} makes a sparse tensor, and how much memory that takes depends on values: "
                "only gradients of parameters may be sparse"
            )
        known = [storage_address(t) in self._by_address for t in tensors]
        effect = has_effect(node)
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
        self.units.append(Unit([Call(node, node.target)], reads, makes, effect=effect, random=is_random(node)))

    def _remember(self, node: fx.Node, tensors: list[torch.Tensor], unit: int | None) -> list[int]:
        made: list[int] = []
        for tensor in tensors:
            address = storage_address(tensor)
            if address not in self._by_address:
                self._by_address[address] = len(self.storages)
                nbytes = allocated_bytes(tensor.untyped_storage().nbytes(), self.trace.device)
                name = node.name if len(tensors) == 1 else f"{node.name}.{len(made)}"
                made.append(len(self.storages))
                self.storages.append(Storage(name, nbytes, unit))
        if tensors:
            self.storage_of[node] = self._by_address[storage_address(tensors[0])]
        return made

    def _mark_outputs(self) -> None:
        for node in self.trace.outputs:
            storage = self.storages[self.storage_of[node]]
            storage.output = storage.unit is not None


def _extent(tensor: torch.Tensor) -> int:
    """Bytes from the first to the last element."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def _needed(trace: Captured) -> set[fx.Node]:
    """What the outputs need, what draws random numbers or has an effect, and what those need."""
    needed: set[fx.Node] = set(trace.inputs)
    wanted = [
        node
        for node in trace.graph.nodes
        if node.op == "call_function" and not is_getitem(node) and (has_effect(node) or is_random(node))
    ]
    wanted += trace.outputs
    while wanted:
        node = wanted.pop()
        if node not in needed:
            needed.add(node)
            wanted += node.all_input_nodes
    return needed
