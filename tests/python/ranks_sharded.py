"""What ranks with sharded parameters do in tests, and the networks that they do it with."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

import checkmate

ROWS = 96  # of a batch of one rank
WIDTH = 33  # not a multiple of any number of ranks


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(functional.gelu(self.up(self.norm(x))))  # type: ignore[no-any-return]


class Net(nn.Sequential):
    """A last layer of one row leaves most ranks without a part of it."""

    def __init__(self, blocks: int = 4) -> None:
        super().__init__(*(Block() for _ in range(blocks)), nn.Linear(WIDTH, 1))


def seeded_net(blocks: int = 4) -> Net:
    torch.manual_seed(0)
    return Net(blocks)


def squared(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().mean()  # type: ignore[no-any-return]


def rows_of(rank: int, rows: int = ROWS) -> torch.Tensor:
    return torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(rank))


def whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.full_tensor().detach().clone()  # type: ignore[attr-defined, no-any-return]


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [whole(p.grad) for p in model.parameters() if p.grad is not None]


class Run(NamedTuple):
    steps: list[int]
    gathers: int
    gradients: list[torch.Tensor]
    bitwise_keep_all: bool
    bitwise_fully_shard: bool
    predicted: int
    measured: int
    budget: int


def compiled(rank: int, folder: str, budget: Any, model: nn.Module, **options: Any) -> checkmate.torch.Step:
    given = {"shard": dist.group.WORLD, "cache": folder, "time_limit": 0.5, "progress": False} | options
    return checkmate.compile(model, squared, (rows_of(rank),), budget, **given)


def gathers_of(step: checkmate.torch.Step) -> int:
    return sum(step.graph.ops[op].kind == "gather" for op in step.plan.steps)


def least_budget(rank: int, folder: str, model: nn.Module) -> int:
    try:
        compiled(rank, folder, "1%", model)
    except checkmate.InfeasibleError as error:
        return error.sufficient or error.needed
    raise AssertionError("one percent was enough")


def run_at(rank: int, folder: str, budget: Any) -> tuple[Any, ...]:
    step = compiled(rank, folder, budget, seeded_net())
    step(rows_of(rank))
    made = gradients(step.model)
    step.model.zero_grad()
    seen = checkmate.verify(step, (rows_of(rank),), repeats=1)
    assert seen.from_eager is not None
    same, same_eager = seen.from_keep_all.none, seen.from_eager.none
    return tuple(
        Run(step.plan.steps, gathers_of(step), made, same, same_eager, seen.predicted_peak, seen.measured_peak, seen.budget)
    )


def budgets(rank: int, folder: str) -> list[Any]:
    """A step with much memory and with as little as there can be."""
    return [run_at(rank, folder, "100%"), run_at(rank, folder, int(1.02 * least_budget(rank, folder, seeded_net())))]
