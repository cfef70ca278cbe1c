"""The backend that `torch.compile(backend="checkmate")` finds by its name."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo.config
from torch import fx

from checkmate import Error
from checkmate.torch.backend.autograd import GraphFunction, with_autograd
from checkmate.torch.backend.joint import Joint
from checkmate.torch.backend.loop import Loop
from checkmate.torch.backend.runner import Kept, PlannedGraph
from checkmate.torch.backend.settings import current
from checkmate.torch.options import Options

# Dynamo leaves recurrent layers to eager mode otherwise, where no budget holds and nothing tells.
torch._dynamo.config.allow_rnn = True

MAX_NUMBERS = 16  # values of floats for which a graph is planned
_loops: dict[Options, Loop] = {}
_graphs: weakref.WeakSet[PlannedGraph] = weakref.WeakSet()


def backend(module: fx.GraphModule, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> GraphFunction:
    """What Dynamo calls with a graph: a function that runs it within the budget.

    It is captured with its backward pass, measured and planned at its first call, which has real values. Graphs with the same
    options share their budget.
    """
    settings = current(options)
    loop = _loops.setdefault(settings, Loop(settings))
    shapes = _Shapes(module, loop, inputs)
    return torch._dynamo.disable(shapes, reason="it runs planned passes")  # type: ignore[no-any-return, no-untyped-call]


def planned_graphs() -> list[PlannedGraph]:
    """Those that are in use."""
    return [graph for graph in _graphs if graph.is_planned]


def reset() -> None:
    """Forgets all graphs, after `torch._dynamo.reset()`."""
    _loops.clear()
    _graphs.clear()


class _Shapes:
    """A graph of Dynamo's, which is captured once for each combination of shapes and numbers that comes."""

    def __init__(self, module: fx.GraphModule, loop: Loop, inputs: Sequence[Any]) -> None:
        self._module = module
        self._loop = loop
        self._numbers = _numbers(module)
        self._fixed = not self._numbers and all(isinstance(each, torch.Tensor) and _is_static(each) for each in inputs)
        self._known: dict[Hashable, GraphFunction] = {}
        self._values: set[Hashable] = set()  # of the numbers, so far

    def __call__(self, *inputs: Any) -> Any:
        if not self._fixed:
            inputs = tuple(each.item() if number in self._numbers else each for number, each in enumerate(inputs))
        key = None if self._fixed else tuple(each.shape if isinstance(each, torch.Tensor) else each for each in inputs)
        tensors = inputs if self._fixed else [each for each in inputs if isinstance(each, torch.Tensor)]
        if key not in self._known:
            self._check_numbers(inputs)
            module = self._module if self._fixed else _bound(self._module, inputs)
            self._known[key] = with_autograd(module, tensors, self._looped)
        return self._known[key](*tensors)

    def _check_numbers(self, inputs: Sequence[Any]) -> None:
        """A number that changes in every step would be planned in every step."""
        self._values.add(tuple(inputs[number] for number in sorted(self._numbers)))
        if len(self._values) > MAX_NUMBERS:
            raise Error(
                f"the model was called with {len(self._values)} values of a Python float, each of which is planned for itself: "
                "pass it as a tensor"
            )

    def _looped(self, joint: Joint) -> _LoopedGraph:
        graph = PlannedGraph(joint, "graph")
        _graphs.add(graph)
        return _LoopedGraph(self._loop, graph)


class _LoopedGraph:
    """Runs the passes of a graph in its loop."""

    def __init__(self, loop: Loop, graph: PlannedGraph) -> None:
        self._loop = loop
        self._graph = graph

    def forward(self, inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor | None], object]:
        return self._loop.forward(self._graph, inputs)

    def backward(self, kept: object, tangents: list[torch.Tensor], *, keep: bool) -> list[torch.Tensor | None]:
        assert isinstance(kept, Kept), "the forward pass made it"
        return self._loop.backward(kept, tangents, keep=keep)


def _numbers(module: fx.GraphModule) -> set[int]:
    """Which inputs are tensors of one number that the graph asks for: so Dynamo hands over a float that changes."""
    placeholders = module.graph.find_nodes(op="placeholder")
    return {number for number, node in enumerate(placeholders) if node.users and all(map(_is_item, node.users))}


def _is_item(node: fx.Node) -> bool:
    return node.op == "call_method" and node.target == "item"


def _bound(module: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """The module with those of its inputs that are not tensors, such as sizes, as they are in this call."""
    given = iter(inputs)
    graph, new = fx.Graph(), dict[fx.Node, Any]()
    for node in module.graph.nodes:
        value = next(given) if node.op == "placeholder" else None
        if node.op == "placeholder" and not isinstance(value, torch.Tensor):
            new[node] = value
        elif _is_item(node) and not isinstance(number := new[node.args[0]], fx.Node):
            new[node] = number
        else:
            new[node] = graph.node_copy(node, new.__getitem__)
    return fx.GraphModule(module, graph)


def _is_static(tensor: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in tensor.shape)
