"""What each of two ranks does in test_torch_deliver.py."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import checkmate

Gradients = list[torch.Tensor]


def squared(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().mean()


def gradients(model: nn.Module) -> Gradients:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def wrapped() -> DistributedDataParallel:
    torch.manual_seed(0)
    return DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 32)))


def passes(model: DistributedDataParallel, run: Callable[..., torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> list[Gradients]:
    """After a pass that only adds up, after one that averages the sum, and after one on its own."""
    with model.no_sync():
        run(x).backward()
    local = gradients(model)
    run(y).backward()
    both = gradients(model)
    model.zero_grad()
    (run(x) / 2).backward()
    return [local, both, gradients(model)]


def ours_and_theirs(rank: int, folder: str) -> tuple[list[Gradients], list[Gradients], Gradients]:
    """The last ones are of two losses in one pass, which DistributedDataParallel itself does not allow."""
    x, y = torch.randn(2, 512, 32, generator=torch.Generator().manual_seed(rank))
    model, plain = wrapped(), wrapped()
    step = checkmate.compile(model, squared, (x,), "85%", deliver="backward", cache=folder, time_limit=2)
    ours = passes(model, step, x, y)
    theirs = passes(plain, lambda x: squared(plain, x), x, y)
    model.zero_grad()
    (step(x) / 2 + step(x) / 2).backward()
    return ours, theirs, gradients(model)
