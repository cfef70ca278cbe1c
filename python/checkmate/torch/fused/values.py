"""The nodes of a decomposed step, as fusion sees them: which make new memory, and which of these Inductor can fuse."""

from __future__ import annotations

import torch
from torch import fx
from torch._inductor import lowering

from checkmate.torch.captured import Captured
from checkmate.torch.fused.ops import is_elementwise, is_reduction
from checkmate.torch.fx_utils import is_getitem, origin, overload, storage_address, tensors_of, value
from checkmate.torch.op_traits import has_effect, is_random

aten = torch.ops.aten


class Values:
    """The nodes of a step. A value is a tensor with memory of its own; views belong to the value that they show."""

    def __init__(self, trace: Captured) -> None:
        self.trace = trace
        self.position = {node: i for i, node in enumerate(trace.graph.nodes)}
        self._value_at: dict[int, fx.Node] = {}
        self._views: set[fx.Node] = set()
        for node in trace.graph.nodes:
            self._add(node)
        self.outputs = {self.base(node) for node in trace.outputs}
        self.readers: dict[fx.Node, list[fx.Node]] = {}
        self.sources: set[fx.Node] = set()  # elementwise calls that read only inputs of the step, or other such calls
        self.early: set[fx.Node] = set()  # those that are not fused and can run before any others: they part no run
        self.run: dict[fx.Node, int] = {}  # which run of fusible calls each belongs to
        runs = 0
        for node in self.makers():
            for read in self.reads(node):
                self.readers.setdefault(read, []).append(node)
            if self.is_fusible(node):
                self.run[node] = runs
                resident = all(read.op == "placeholder" or self.maker(read) in self.sources for read in self.reads(node))
                if resident and is_elementwise(node):
                    self.sources.add(node)
            elif all(self.maker(read) in self.early for read in self.reads(node)):
                self.early.add(node)
            else:
                runs += 1

    def _add(self, node: fx.Node) -> None:
        if node.op not in ("placeholder", "call_function"):
            return
        addresses = [storage_address(tensor) for tensor in tensors_of(value(node))]
        seen = [address in self._value_at for address in addresses]
        if node.op == "call_function" and addresses and all(seen) and not has_effect(node):
            self._views.add(node)
        elif not isinstance(value(node), (tuple, list)):
            for address in addresses:
                self._value_at.setdefault(address, node)

    def makers(self) -> list[fx.Node]:
        """The calls that compute something, in order."""
        return [n for n in self.position if n.op == "call_function" and n not in self._views and not is_getitem(n)]

    def base(self, node: fx.Node) -> fx.Node:
        """The value that the node is, or shows."""
        return self._value_at[storage_address(tensors_of(value(node))[0])]

    def maker(self, found: fx.Node) -> fx.Node:
        """The call that computes the value."""
        return found.args[0] if is_getitem(found) else found  # type: ignore[return-value]

    def reads(self, node: fx.Node) -> list[fx.Node]:
        """The values among the arguments of a call."""
        return list(dict.fromkeys(self.base(argument) for argument in node.all_input_nodes))

    def values_of(self, maker: fx.Node) -> list[fx.Node]:
        """The values that a call computes and somebody reads."""
        if not isinstance(value(maker), (tuple, list)):
            return [maker] if isinstance(value(maker), torch.Tensor) else []
        return [user for user in maker.users if is_getitem(user) and user not in self._views]

    def is_forward(self, node: fx.Node) -> bool:
        """Whether it belongs to the forward pass."""
        return node.op == "placeholder" or origin(node).phase == "forward"

    def is_fusible(self, node: fx.Node) -> bool:
        """Whether Inductor compiles the call itself: an op with a kernel of its own is better left alone."""
        op = overload(node)
        if op is None or op not in lowering.lowerings or op in lowering.fallbacks or has_effect(node) or is_random(node):
            return False
        if op in (aten.clone.default, aten.copy.default) and node in self.outputs:
            return False  # a copy that is handed out is one for a reason
        if any(tensor.is_complex() for each in [node, *node.all_input_nodes] for tensor in tensors_of(value(each))):
            return False
        return is_elementwise(node) or is_reduction(node)

    def is_free(self, node: fx.Node) -> bool:
        """Whether computing it again inside another kernel costs next to nothing.

        A value that another run reads is there anyway. Without it, sums that go on through all layers would be computed again
        from their first term.
        """
        if node not in self.run or not is_elementwise(node):
            return False
        readers = (reader for found in self.values_of(node) for reader in self.readers.get(found, []))
        forward = (reader for reader in readers if self.is_forward(reader))
        return node in self.sources or all(self.run.get(reader, self.run[node]) == self.run[node] for reader in forward)


def bytes_of(found: fx.Node) -> int:
    """Of a value."""
    return int(value(found).untyped_storage().nbytes())
