"""Two processes with half a batch each, against one with all of it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

import checkmate
import networks

HALF = 512


class Net(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 32))


def whole_batch() -> torch.Tensor:
    return torch.randn(2 * HALF, 32, generator=torch.Generator().manual_seed(7))


def seeded_net() -> Net:
    torch.manual_seed(0)
    return Net()


def _work(rank: int, port: int, wrapped: bool, kernels: str, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    try:
        inner = seeded_net()
        model: nn.Module = DistributedDataParallel(inner) if wrapped else inner
        x = whole_batch()[HALF * rank : HALF * (rank + 1)]
        group = None if wrapped else dist.group.WORLD
        step = checkmate.compile(
            model, networks.squared, (x,), "85%", kernels=kernels, process_group=group, cache=folder, progress=False
        )
        step(x)
        first = [p.grad.clone() for p in inner.parameters() if p.grad is not None]
        step(x)
        second = [p.grad.clone() for p in inner.parameters() if p.grad is not None]
        try:
            checkmate.compile(model, networks.squared, (x[: 8 + rank],), kernels=kernels, process_group=group, cache=folder)
            refusal = ""
        except checkmate.Error as error:
            refusal = str(error)
        torch.save((step.plan.steps, first, second, refusal), f"{folder}/{rank}.pt")
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    ("wrapped", "kernels"),
    [(False, "aten"), (True, "aten"), (True, "fused")],
    ids=["process group", "DistributedDataParallel", "fused kernels"],
)
def test_ranks_run_one_plan_and_average_their_gradients(wrapped: bool, kernels: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn(_work, args=(port, wrapped, kernels, str(tmp_path)), nprocs=2)
    (steps, ours, twice, refusal), (other_steps, other, _, other_refusal) = (
        torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)
    )
    assert steps == other_steps
    assert "rank 1 runs a different step from rank 0" in refusal
    assert refusal == other_refusal

    alone = seeded_net()
    networks.squared(alone, whole_batch()).backward()
    for parameter, a, b, accumulated in zip(alone.parameters(), ours, other, twice, strict=True):
        assert parameter.grad is not None
        assert torch.equal(a, b)
        torch.testing.assert_close(a, parameter.grad)
        torch.testing.assert_close(accumulated, 2 * parameter.grad)
