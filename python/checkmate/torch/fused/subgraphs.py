"""Groups of ops as graphs of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from torch import fx

from checkmate.torch.fused.kernels import Subgraph
from checkmate.torch.fused.values import Values
from checkmate.torch.fx_utils import value


def subgraph_of(values: Values, ops: Sequence[fx.Node], results: Sequence[fx.Node]) -> Subgraph:
    """The ops, in order, and the values that leave them."""
    return _Copying(values, ops).subgraph(results)


class _Copying:
    def __init__(self, values: Values, ops: Sequence[fx.Node]) -> None:
        self.values = values
        self.ops = ops
        self.inside = set(ops)
        self.graph = fx.Graph()
        self.new: dict[fx.Node, fx.Node] = {}
        self.text: list[str] = []

    def subgraph(self, results: Sequence[fx.Node]) -> Subgraph:
        reads = dict.fromkeys(v for node in self.ops for v in self.values.reads(node) if self.values.maker(v) not in self.inside)
        for number, found in enumerate(reads):
            self.new[found] = self.graph.create_node("placeholder", f"a{number}", name=f"a{number}")
            self.new[found].meta["val"] = value(found)
            tensor = value(found)
            self.text.append(f"{tensor.dtype}{list(tensor.shape)}{list(tensor.stride())}")
        for node in self.ops:
            self._copy(node)
        output = self.graph.output(tuple(self._copy(found) for found in results))
        self.text.append(str(output.args))
        key = hashlib.sha256("\n".join(self.text).encode()).hexdigest()
        return Subgraph(self.graph, list(reads), list(results), key)

    def _copy(self, node: fx.Node) -> fx.Node:
        if node not in self.new:
            args, kwargs = fx.map_arg((node.args, node.kwargs), self._copy)
            new = self.graph.create_node("call_function", node.target, args, kwargs, name=f"v{len(self.new)}")
            new.meta["val"] = value(node)
            self.text.append(f"{new.name} = {node.target}{args}{kwargs}")
            self.new[node] = new
        return self.new[node]
