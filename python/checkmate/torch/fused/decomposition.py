"""A step in the ops that Inductor compiles: norms, losses and activations taken apart, random numbers as eager draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.fx.traceback
from torch import fx
from torch._inductor.decomposition import select_decomp_table
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from checkmate.torch.captured import Captured
from checkmate.torch.fx_utils import call, value
from checkmate.torch.strides import EagerLayouts

aten = torch.ops.aten
C = TypeVar("C", bound=Captured)


def decomposed(trace: C) -> tuple[C, FakeTensorMode]:
    """The same step, and the mode of its fake tensors."""
    mode = EagerLayouts(shape_env=ShapeEnv())  # without one, Inductor remembers nothing
    with mode:
        fakes = [_like(value(node)) for node in trace.inputs]
    with mode, torch.no_grad(), torch.fx.traceback.preserve_node_meta():
        traced = make_fx(_runner(trace), decomposition_table=_table())(*fakes)
    traced.graph.eliminate_dead_code()
    inputs = [node for node in traced.graph.nodes if node.op == "placeholder"]
    (output,) = (node for node in traced.graph.nodes if node.op == "output")
    return trace.over(traced.graph, inputs, dict(zip(trace.outputs, output.args[0], strict=True))), mode


def _like(tensor: torch.Tensor) -> torch.Tensor:
    device = "cpu" if tensor.device.type == "meta" else tensor.device
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)


def _runner(trace: Captured) -> Callable[..., Any]:
    """A function that runs the step op by op, for a trace."""

    def run(*given: torch.Tensor) -> list[Any]:
        values: dict[fx.Node, Any] = dict(zip(trace.inputs, given, strict=True))
        for node in trace.graph.nodes:
            if node.op == "call_function":
                with torch.fx.traceback.set_current_meta(node):
                    target = _small_mask if node.target is aten.bernoulli.p else node.target
                    values[node] = call(target, node.args, node.kwargs, values.__getitem__)
        return [values[node] for node in trace.outputs]

    return run


def _small_mask(like: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """The same numbers, drawn as a byte each: a mask that dropout keeps is four times smaller."""
    mask = torch.empty_strided(like.shape, like.stride(), dtype=torch.bool, device=like.device)
    return aten.bernoulli.p(mask, p, generator=generator).to(like.dtype)  # type: ignore[no-any-return]


def _table() -> dict[Any, Callable[..., Any]]:
    """Inductor's decompositions, but for ops that draw random numbers or write, and those whose own kernels are better."""
    rules = {op: rule for op, rule in select_decomp_table().items() if isinstance(op, OpOverload) and _is_pure(op)}
    rules.pop(aten.embedding_dense_backward.default, None)
    return rules | {aten.nll_loss_backward.default: _nll_loss_backward, aten.nll_loss2d_backward.default: _nll_loss_backward}


def _is_pure(op: OpOverload[Any, Any]) -> bool:
    return torch.Tag.nondeterministic_seeded not in op.tags and not op._schema.is_mutable


def _nll_loss_backward(
    grad: torch.Tensor,
    scores: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignored: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    """Element by element, where others scatter: it can be fused with the loss."""
    classes = 0 if scores.dim() < 2 else 1
    shape = [1] * scores.dim()
    shape[classes] = scores.shape[classes]
    if reduction == 1:  # the mean
        grad = grad / total_weight
    if grad.dim() < scores.dim() and grad.dim() > 0:
        grad = grad.unsqueeze(classes)
    index = target.unsqueeze(classes)
    hit = torch.arange(scores.shape[classes], device=scores.device).view(shape) == index
    if weight is not None:
        grad = grad * weight.view(shape)
    return torch.where(hit & (index != ignored), -grad, torch.zeros_like(grad))
