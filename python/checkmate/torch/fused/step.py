"""A step whose groups of ops are single calls of compiled kernels."""

from __future__ import annotations

import operator
from collections.abc import Sequence, Set
from functools import partial
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from checkmate.torch.captured import Captured
from checkmate.torch.fused.decomposition import decomposed
from checkmate.torch.fused.grouping import Group, Late, grouped
from checkmate.torch.fused.inductor import compile_graph
from checkmate.torch.fused.kernels import NOT_FUSED, Kernels
from checkmate.torch.fused.subgraphs import subgraph_of
from checkmate.torch.fused.values import Values
from checkmate.torch.fx_utils import call, getitem, is_getitem, origin, set_origin, value


class Fusible:
    """A step in ops that can be fused, for which there are several ways to do it."""

    def __init__(self, trace: Captured) -> None:
        trace, self._mode = decomposed(trace)
        self._values = Values(trace)
        self._kernels = Kernels(partial(compile_graph, self._mode))

    def fused(self, late: Late, refused: Set[str] = frozenset()) -> Captured:
        """The step over fused kernels, none of which is compiled yet. Groups with a refused key run op by op."""
        return _Fusing(self._values, self._mode, self._kernels, refused).trace(grouped(self._values, late))


class _Fusing:
    """Writes the step anew, group by group."""

    def __init__(self, values: Values, mode: FakeTensorMode, kernels: Kernels, refused: Set[str]) -> None:
        self.values = values
        self.mode = mode
        self.kernels = kernels
        self.refused = refused
        self.graph = fx.Graph()
        self.new: dict[fx.Node, fx.Node] = {}
        self.copies: dict[fx.Node, fx.Node] = {}  # of values, and views of these

    def trace(self, groups: Sequence[Group]) -> Captured:
        trace = self.values.trace
        for node in trace.inputs:
            self.new[node] = self.graph.node_copy(node)
        inputs = list(self.new.values())
        for group in groups:
            if group.fused:
                self._add_fused(group)
            else:
                self._add_op(group)
        outputs = {node: self._shown(node) for node in trace.outputs}
        self.graph.output(list(outputs.values()))
        return trace.over(self.graph, inputs, outputs)

    def _add_fused(self, group: Group) -> None:
        results = [*group.made, *group.copies]
        subgraph = subgraph_of(self.values, group.ops, results)
        if subgraph.key in self.refused:
            self._add_apart(group)
            return
        arguments = tuple(self.new[found] for found in subgraph.inputs)
        node = self.graph.call_function(self.kernels.of(subgraph), arguments)
        with self.mode:
            node.meta["val"] = tuple(_fresh(value(found)) for found in results)
        set_origin(node, _where(group))
        for position, found in enumerate(results):
            element = self.graph.call_function(operator.getitem, (node, position))
            element.meta["val"] = value(node)[position]
            (self.new if position < len(group.made) else self.copies)[found] = element

    def _add_apart(self, group: Group) -> None:
        """Its ops one by one, those that run again here included."""
        inside: dict[fx.Node, fx.Node] = {}

        def shown(node: fx.Node) -> fx.Node:
            if node not in inside:
                if self.values.maker(self.values.base(node)) not in group.ops:
                    return self._shown(node)
                inside[node] = self._add(node, *fx.map_arg((node.args, node.kwargs), shown))
                inside[node].meta[NOT_FUSED] = True
            return inside[node]

        self.new.update({found: shown(found) for found in group.made})
        self.copies.update({found: shown(found) for found in group.copies})

    def _add_op(self, group: Group) -> None:
        (node,) = group.ops
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda argument: self._shown(argument, group.copies_read))
        self.new[node] = self._add(node, args, kwargs)
        for found in group.made:
            if is_getitem(found):
                self.new[found] = self._add(found, (self.new[node], getitem(found)[1]), {})

    def _shown(self, node: fx.Node, copied: Set[fx.Node] = frozenset()) -> fx.Node:
        """The value, or the view of it, in the new graph; of its copy, if it is among those."""
        known = self.copies if self.values.base(node) in copied else self.new
        if node not in known:
            args, kwargs = fx.map_arg((node.args, node.kwargs), lambda argument: self._shown(argument, copied))
            known[node] = self._add(node, args, kwargs)
        return known[node]

    def _add(self, node: fx.Node, args: Any, kwargs: Any) -> fx.Node:
        added = self.graph.call_function(node.target, args, kwargs)  # type: ignore[arg-type]
        with self.mode, torch.no_grad():
            added.meta["val"] = call(node.target, args, kwargs, value)
        set_origin(added, origin(node))
        return added


def _where(group: Group) -> Any:
    """Of the first op that has not moved here from the forward pass."""
    found = [origin(node) for node in group.ops]
    own = [each for each in found if each.phase != "forward"] or found
    return next((each for each in own if each.module), own[0])


def _fresh(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
