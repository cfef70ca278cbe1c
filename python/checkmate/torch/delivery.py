"""A loss whose `backward()` delivers the gradients of a step that has run already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from checkmate import Error
from checkmate.torch.checks import loss_of
from checkmate.torch.runtime import outside_of_arenas


class HeldGradients:
    """What a step made, until the backward() of its loss asks for it. When the loss goes, so do they.

    `delivered` is called in each backward pass that takes them, before they are in `.grad`.
    """

    def __init__(self, gradients: Iterable[torch.Tensor], delivered: Callable[[], None]) -> None:
        self._gradients: list[torch.Tensor] | None = list(gradients)
        self.delivered = delivered

    def leave_arenas(self) -> None:
        """The next step needs the arena whole."""
        if self._gradients is not None:
            self._gradients = [outside_of_arenas(gradient) for gradient in self._gradients]

    @torch.no_grad()
    def times(self, scale: torch.Tensor, keep: bool) -> list[torch.Tensor]:
        """The gradients, multiplied. Unless they are to be kept for another time, they are given away without a copy."""
        assert self._gradients is not None, "torch refuses to go through a graph that it did not keep"
        if keep:
            return [gradient * scale for gradient in self._gradients]
        given, self._gradients = self._gradients, None
        return given if scale == 1 else [_multiplied(gradient, scale) for gradient in given]


def _multiplied(gradient: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return gradient * scale if gradient.is_sparse else gradient.mul_(scale)


class _Loss(torch.autograd.Function):
    """From the parameters to the loss: autograd adds what backward() returns to `.grad`, and calls hooks, as it always does."""

    @staticmethod
    def forward(ctx: Any, loss: list[torch.Tensor], held: HeldGradients, *_parameters: torch.Tensor) -> torch.Tensor:
        """The loss comes in a list: it has no history yet that would count."""
        ctx.held = held
        ctx.save_for_backward(torch.empty(0))  # so that torch itself tells who comes a second time without retain_graph
        return loss[0]

    @staticmethod
    def backward(ctx: Any, scale: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Multiplies what the step made, for d(loss)/d(loss) = 1, by the gradient of this loss."""
        _ = ctx.saved_tensors
        if torch.is_grad_enabled():
            raise Error(
                "a planned step has no gradients of gradients: leave out create_graph=True, and compute in loss_fn what needs "
                "them, such as a gradient penalty"
            )
        ctx.held.delivered()
        keep = torch._C._autograd._get_current_graph_task_keep_graph()
        return (None, None, *ctx.held.times(scale.reshape(()), keep))


def with_history(returned: Any, parameters: Sequence[torch.nn.Parameter], held: HeldGradients) -> Any:
    """What a loss function returned, with a loss from which autograd finds the parameters."""
    loss = loss_of(returned)
    history = _Loss.apply([loss], held, *parameters)  # type: ignore[no-untyped-call]
    return pytree.tree_map_only(torch.Tensor, lambda tensor: history if tensor is loss else tensor, returned)
