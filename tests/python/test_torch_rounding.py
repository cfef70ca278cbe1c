"""Where a captured step could round otherwise than eager PyTorch: other kernels, or another layout of what they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import checkmate
import networks


def same_bits(model: nn.Module, loss_fn: Callable[..., Any], *batch: Any) -> None:
    step = checkmate.compile(model, loss_fn, batch, costs="flops")
    seen = checkmate.verify(step, batch, repeats=1)
    assert seen.from_eager is not None
    assert seen.from_eager.none, str(seen)


@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy_with_logits_stays_one_op(weighted: bool) -> None:
    weight = torch.rand(10) + 0.5 if weighted else None

    def loss_fn(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.binary_cross_entropy_with_logits(model(x), y, pos_weight=weight)

    model, x, y = nn.Linear(32, 10), torch.randn(64, 32), torch.rand(64, 10)
    source = checkmate.compile(model, loss_fn, (x, y), costs="flops").source
    assert "binary_cross_entropy_with_logits" in source
    same_bits(model, loss_fn, x, y)


class Hooked(nn.Module):
    """Adds a hook to its layer when it first runs, and remembers so, as transformers do to collect hidden states."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.outputs: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not getattr(self, "hooked", False):
            self.layer.register_forward_hook(lambda _, __, output: self.outputs.append(output))
            self.hooked = True
        self.outputs.clear()
        self.layer(x)
        return torch.stack(self.outputs).sum(0)


def test_hooks_that_a_forward_pass_adds_are_taken_away_with_the_flag_that_says_so() -> None:
    model, x = Hooked(), torch.randn(8, 32)
    step = checkmate.compile(model, networks.squared, (x,), costs="flops")
    assert not model.outputs
    assert not model.layer._forward_hooks
    expected = networks.squared(model, x)
    assert len(model.outputs) == 1
    assert torch.equal(step(x), expected)


class Reversible(torch.autograd.Function):
    """Keeps its input, and runs the layer again in its backward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layer: nn.Module) -> torch.Tensor:  # type: ignore[override]
        ctx.save_for_backward(x)
        ctx.layer = layer
        with torch.no_grad():
            return x + layer(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, None]:  # type: ignore[override]
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            (x + ctx.layer(x)).backward(gradient)
        return x.grad, None


class ReversibleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = Reversible.apply(x, layer)
        return self.layers[0](x)  # its gradients come from both backward passes


def test_a_backward_pass_within_the_backward_pass_leaves_gradients_too() -> None:
    model, x = ReversibleNet(), torch.randn(8, 16)
    same_bits(model, networks.squared, x)
    assert all(p.grad is None for p in model.parameters())
