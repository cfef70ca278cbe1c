"""Graphs of networkx, or of anything with its interface, as training steps."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from . import _checks
from .errors import Error
from .graph import Graph, Op, Tensor

__all__ = ["from_networkx"]

_REQUIRED = object()


def from_networkx(
    graph: Any,
    *,
    cost: str = "cost",
    size: str = "size",
    workspace: str | None = None,
    name: str | None = None,
    kind: str | None = None,
    phase: str | None = None,
    recomputable: str | None = None,
    resident: str | None = None,
    output: str | None = None,
    order: Iterable[Hashable] | None = None,
    cost_unit: str = "unit",
    reserved_bytes: int = 0,
    graph_name: str | None = None,
) -> Graph:
    """A training step from a directed graph of networkx.

    Each node is an op that makes one tensor, and each edge leads from an op to one that reads its tensor. ``cost`` and ``size``
    (bytes of the tensor) are the names of the nodes' attributes that hold them. So are ``workspace``, ``name``, ``kind``,
    ``phase``, ``recomputable`` and ``output``, which mean what :class:`Op` and :class:`Tensor` say; nodes without the attribute
    have its default there, and are named like the node. A node whose attribute ``resident`` is true is no op: its tensor is
    always in memory. Nodes can be anything hashable. Costs may have fractions (see :class:`Graph`).

    ``order``: all nodes, each after those that it reads; by default the first topological order, by place in ``graph.nodes``.
    ``graph_name``: by default that of the networkx graph.
    """
    if not graph.is_directed():
        raise Error("the graph has no directions: make a networkx.DiGraph, with edges from an op to those that read its tensor")
    attributes: dict[Hashable, Mapping[str, Any]] = dict(graph.nodes(data=True))
    nodes = _ordered(graph, list(attributes)) if order is None else _given(list(order), attributes)
    places = {node: place for place, node in enumerate(nodes)}
    tensors, ops = [], []
    for node in nodes:
        read = _Reader(node, attributes[node])
        called = str(read(name, node))
        stays = _checks.flag(read(resident, False), f"attribute {resident!r}", f" of node {node!r:.60}")
        tensors.append(Tensor(called, _bytes(read(size, _REQUIRED)), resident=stays, output=read(output, False)))
        inputs = sorted(places[source] for source in graph.predecessors(node))
        if stays and inputs:
            raise Error(f"node {node!r:.60} is resident, but reads other nodes: no op makes a resident tensor", "invalid_graph")
        if not stays:
            ops.append(
                Op(
                    called,
                    read(cost, _REQUIRED),
                    inputs,
                    [places[node]],
                    kind=read(kind, ""),
                    workspace=_bytes(read(workspace, 0)),
                    phase=read(phase, "forward"),
                    recomputable=read(recomputable, True),
                )
            )
    title = str(graph.name) if graph_name is None else graph_name
    return Graph(title, tensors, ops, cost_unit=cost_unit, reserved_bytes=reserved_bytes)


class _Reader:
    """The attributes of a node by the names that the caller gives them."""

    def __init__(self, node: Hashable, attributes: Mapping[str, Any]) -> None:
        self._node, self._attributes = node, attributes

    def __call__(self, attribute: str | None, default: Any) -> Any:
        found = default if attribute is None else self._attributes.get(attribute, default)
        if found is _REQUIRED:
            known = ", ".join(map(repr, self._attributes)) or "none"
            raise Error(
                f"node {self._node!r:.60} has no attribute {attribute!r}; its attributes are: {known:.200}", "invalid_graph"
            )
        return found


def _bytes(size: Any) -> Any:
    """Tables hold whole numbers as floats, once one number in them has a fraction or is missing."""
    return int(size) if isinstance(size, float) and size.is_integer() else size


def _given(order: list[Hashable], attributes: Mapping[Hashable, Any]) -> list[Hashable]:
    if len(order) != len(attributes) or set(order) != set(attributes):
        raise Error(f"order must have each of the graph's {len(attributes)} nodes once")
    return order


def _ordered(graph: Any, nodes: list[Hashable]) -> list[Hashable]:
    """Always the earliest node whose inputs are done."""
    places = {node: place for place, node in enumerate(nodes)}
    waiting = {node: len(set(graph.predecessors(node))) for node in nodes}
    ready = [places[node] for node in nodes if waiting[node] == 0]
    ordered = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for user in set(graph.successors(node)):
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, places[user])
    if len(ordered) < len(nodes):
        stuck = next(node for node in nodes if waiting[node] > 0)
        raise Error(
            f"the graph has a cycle, on or before node {stuck!r:.60}: an op cannot read what is made after it", "invalid_graph"
        )
    return ordered
