"""AOTAutograd around planned passes: it captures both as one graph, and calls them from autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext, tracing

from checkmate.torch.backend.joint import Joint, joint_of
from checkmate.torch.errors import explain_capture_failure
from checkmate.torch.fx_utils import value
from checkmate.torch.library_shims import eager_composites, experts_as_ops
from checkmate.torch.strides import EagerLayouts

GraphFunction = Callable[..., Any]


class Runner(Protocol):
    """Runs the passes of a captured graph."""

    def forward(self, inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor | None], object]:
        """What the forward pass returns, and what the backward pass needs of it."""

    def backward(self, kept: object, tangents: list[torch.Tensor], *, keep: bool) -> list[torch.Tensor | None]:
        """The gradient of each input. With `keep`, it may be called again."""


def with_autograd(module: torch.nn.Module, inputs: Sequence[Any], runner_for: Callable[[Joint], Runner]) -> GraphFunction:
    """The module as a function of such inputs, whose passes a runner runs. Where no gradient is wanted, ops run as they are."""
    captured: list[Runner] = []

    def partition(
        traced: fx.GraphModule, _inputs: Sequence[Any], *, num_fwd_outputs: int, **_: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        captured.append(runner_for(joint_of(traced, num_fwd_outputs)))
        return _stand_ins(traced, num_fwd_outputs)

    eagerly = TracingContext(EagerLayouts())
    # Autocast as where backward() is called outside of it.
    outside = functorch_config.patch(backward_pass_autocast="off")
    with explain_capture_failure(), tracing(eagerly), eager_composites(), experts_as_ops(), outside:
        return aot_module_simplified(
            cast(fx.GraphModule, module),
            inputs,
            fw_compiler=lambda *_: _boxed(lambda inputs: _forward(captured[0], inputs)),
            bw_compiler=lambda *_: _boxed(lambda inputs: _backward(captured[0], inputs)),
            inference_compiler=lambda plain, _: make_boxed_func(plain.forward),
            partition_fn=partition,
            decompositions={},
        )


@dataclass
class _Kept:
    """What a token holds until the backward pass: None after it."""

    content: object


def _forward(runner: Runner, inputs: list[Any]) -> list[Any]:
    given = list(inputs)
    inputs.clear()
    shown, kept = runner.forward(given)
    # AOTAutograd hands tensors from pass to pass. What a plan keeps may change from plan to plan: one tensor holds all of it.
    token = torch.empty(0)
    token.checkmate_kept = _Kept(kept)  # type: ignore[attr-defined]
    return [*shown, token]


def _backward(runner: Runner, inputs: list[Any]) -> list[Any]:
    token, *tangents = inputs
    inputs.clear()
    held: _Kept = token.checkmate_kept
    if held.content is None:
        raise RuntimeError(
            "Trying to backward through the graph a second time: what it kept is freed; pass retain_graph=True the first time"
        )
    keep = torch._C._autograd._get_current_graph_task_keep_graph()
    kept, held.content = held.content, held.content if keep else None
    return runner.backward(kept, tangents, keep=keep)


def _boxed(function: Callable[[list[Any]], Any]) -> GraphFunction:
    function._boxed_call = True  # type: ignore[attr-defined]
    return function


def _stand_ins(traced: fx.GraphModule, shown: int) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Modules with the inputs and outputs of the passes, which AOTAutograd reads and nobody runs."""
    placeholders = traced.graph.find_nodes(op="placeholder")
    tangents = [node for node in placeholders if node.name.startswith("tangents")]
    primals = [node for node in placeholders if node not in tangents]
    (output,) = traced.graph.find_nodes(op="output")
    results = list(output.args[0])
    forward, backward = fx.Graph(), fx.Graph()
    for node in primals:
        _placeholder(forward, node)
    token = forward.call_function(torch.empty, (0,))
    token.meta["val"] = value(primals[0])  # what shares memory with an input is not written into
    token.meta["saved_tensor_with_no_vc_check"] = True
    forward.output((*(_stand_in(forward, node) for node in results[:shown]), token))
    backward.placeholder("token").meta["val"] = token.meta["val"]
    for node in tangents:
        _placeholder(backward, node)
    backward.output(tuple(_stand_in(backward, node) for node in results[shown:]))
    return fx.GraphModule({}, forward), fx.GraphModule({}, backward)


def _placeholder(graph: fx.Graph, node: fx.Node) -> None:
    graph.placeholder(node.name).meta.update(node.meta)


def _stand_in(graph: fx.Graph, node: Any) -> Any:
    if not isinstance(node, fx.Node):
        return node
    copy = graph.call_function(torch.empty, (0,))
    copy.meta.update(node.meta)
    return copy
