"""A forward pass and its backward pass as one graph, with a pause between them."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import fx
from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput

from checkmate.torch.captured import Captured, renewed
from checkmate.torch.errors import CaptureError
from checkmate.torch.fx_utils import Origin, call, nodes_in, set_origin, value
from checkmate.torch.pause import Pause, Snapshot
from checkmate.torch.strides import EagerLayouts


@dataclass(frozen=True, kw_only=True)
class Joint(Captured):
    """Inputs are those of the forward pass, and constants after them. Gradients have the number of their input as a name."""

    shown: list[Any]  # what the forward pass returns: nodes, or None
    constants: list[torch.Tensor]

    @property
    def outputs(self) -> list[fx.Node]:
        """What both passes hand out."""
        return nodes_in([self.shown, list(self.gradients.values())])

    def over(self, graph: fx.Graph, inputs: list[fx.Node], new: Mapping[fx.Node, fx.Node]) -> Self:
        """The same passes over another graph, in which `new` are the outputs."""
        return replace(super().over(graph, inputs, new), shown=renewed(self.shown, new))


def joint_of(traced: fx.GraphModule, shown: int) -> Joint:
    """From AOTAutograd's graph, whose first results are those of the forward pass, `shown` of them.

    Layouts are those of eager's kernels, so that what is computed in place is what eager computes.
    """
    return _Splitting(traced, shown).joint()


class _Splitting:
    def __init__(self, traced: fx.GraphModule, shown: int) -> None:
        self.traced = traced
        (output,) = traced.graph.find_nodes(op="output")
        results = list(output.args[0])
        self.shown, self.gradients = results[:shown], results[shown:]
        descriptions = output.meta["desc"]
        self.overwritten = {each.mutated_input for each in descriptions if isinstance(each, InputMutationAOTOutput)}
        placeholders = traced.graph.find_nodes(op="placeholder")
        self.tangents = [node for node in placeholders if node.name.startswith("tangents")]
        self.primals = [node for node in placeholders if node not in self.tangents]
        self.mode = EagerLayouts()
        self.graph = fx.Graph()
        self.new: dict[fx.Node, fx.Node] = {}
        self.constants: list[torch.Tensor] = []

    def joint(self) -> Joint:
        inputs = [self._add_input(node, value(node)) for node in self.primals]
        inputs += [self._add_constant(node) for node in self.traced.graph.find_nodes(op="get_attr")]
        calls = [node for node in self.traced.graph.nodes if node.op == "call_function"]
        for node in self.primals:
            if node.meta["desc"] in self.overwritten:
                self._add_snapshot(node)
        forward = _behind(nodes_in(self.shown))
        for node in calls:
            if node in forward:
                self._add_call(node, Origin("forward", _module(node)))
        self._add_pause()
        for node in calls:
            if node not in forward:
                self._add_call(node, Origin("backward"))
        gradients = {str(number): self.new[node] for number, node in enumerate(self.gradients) if isinstance(node, fx.Node)}
        shown = renewed(self.shown, self.new)
        self.graph.output([shown, list(gradients.values())])
        devices = {value(node).device for node in inputs}
        if len(devices) > 1:
            raise CaptureError(f"the graph is on several devices ({', '.join(map(str, devices))}): put all of it on one")
        device = devices.pop() if devices else torch.device("cpu")
        return Joint(graph=self.graph, inputs=inputs, gradients=gradients, device=device, shown=shown, constants=self.constants)

    def _add_input(self, node: fx.Node, like: Any) -> fx.Node:
        if not isinstance(like, torch.Tensor):
            raise CaptureError(f"{node.name} is not a tensor of fixed shape: mark the sizes of the batch as static")
        new = self.new[node] = self.graph.placeholder(node.name)
        with self.mode:
            new.meta["val"] = _like(like)
        return new

    def _add_constant(self, node: fx.Node) -> fx.Node:
        held = operator.attrgetter(str(node.target))(self.traced)
        if not isinstance(held, torch.Tensor):
            raise CaptureError(f"the graph calls another one ({node.target}), which no plan can follow: control flow over values")
        self.constants.append(held)
        return self._add_input(node, held)

    def _add_snapshot(self, node: fx.Node) -> None:
        """AOTAutograd writes into the input after the forward pass: what reads it in the backward pass must not see that."""
        copied = self.new[node]
        new = self.new[node] = self.graph.call_function(Snapshot(), (copied,))
        with self.mode:
            new.meta["val"] = _like(value(copied))
        set_origin(new, Origin("forward"))

    def _add_pause(self) -> None:
        shown = tuple(renewed(self.shown, self.new))
        pause = Pause([value(node) for node in self.tangents])
        node = self.graph.call_function(pause, shown)
        with self.mode:
            node.meta["val"] = pause.results()
        set_origin(node, Origin("loss"))
        for position, tangent in enumerate(self.tangents):
            element = self.new[tangent] = self.graph.call_function(operator.getitem, (node, position))
            element.meta["val"] = value(node)[position]

    def _add_call(self, node: fx.Node, where: Origin) -> None:
        args, kwargs = fx.map_arg((node.args, node.kwargs), self.new.__getitem__)
        new = self.new[node] = self.graph.call_function(node.target, args, kwargs)  # type: ignore[arg-type]
        with self.mode, torch.no_grad():
            new.meta["val"] = call(node.target, args, kwargs, value)
        set_origin(new, where)


def _behind(wanted: Sequence[fx.Node]) -> set[fx.Node]:
    """Those nodes, and all that they are computed from."""
    found, open_ends = set[fx.Node](), list(wanted)
    while open_ends:
        node = open_ends.pop()
        if node not in found:
            found.add(node)
            open_ends += node.all_input_nodes
    return found


def _module(node: fx.Node) -> str:
    """Whose forward pass ran it."""
    stack = list(node.meta.get("nn_module_stack", {}).values())
    return str(stack[-1][0]).removeprefix("L['self']").lstrip(".") if stack else ""


def _like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
