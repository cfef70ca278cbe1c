"""What ranks with sharded parameters do in tests, and the networks that they do it with."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional

import checkmate

ROWS = 96  # of a batch of one rank
NO_LATENCY = checkmate.torch.Interconnect(latency=0.0, bandwidth=1e9)  # each parameter has a message of its own
SLOW = checkmate.torch.Interconnect(latency=1.0, bandwidth=1e9)  # all share one
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
    given = {"cache": folder, "time_limit": 0.5, "progress": False, "network": NO_LATENCY} | options
    if "shard" not in given:
        given["shard"] = dist.group.WORLD
    return checkmate.compile(model, squared, (rows_of(rank),), budget, **given)


def gathers_of(step: checkmate.torch.Step) -> int:
    return sum(step.gathers.values())


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


def batches(rank: int, folder: str) -> dict[str, Any]:
    """Gradients of batches that go on, and that are shorter on one rank; all parameters share a message."""
    step = compiled(rank, folder, "100%", seeded_net(), network=SLOW)
    step(rows_of(rank))
    step(rows_of(rank))
    twice = gradients(step.model)
    norm = torch.nn.utils.clip_grad_norm_(step.model.parameters(), 0.1)
    clipped = gradients(step.model)
    step.model.zero_grad()
    step(rows_of(rank)[: ROWS // (1 + rank)])
    uneven = gradients(step.model)
    step.model.zero_grad()
    step(rows_of(rank))
    return {
        "messages": [op.kind for op in step.graph.ops if op.kind in ("gather", "reduce")],
        "twice": twice,
        "norm": whole(norm),
        "clipped": clipped,
        "uneven": uneven,
        "even again": gradients(step.model),
        "steps": step.plan.steps,
    }


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [whole(p) for p in model.parameters()]


def trained(rank: int, folder: str, kind: type[torch.optim.Optimizer], inside: bool, **given: Any) -> list[torch.Tensor]:
    """Weights after three steps, with the optimizer inside of the step or after it."""
    model = seeded_net()
    if inside:
        step = compiled(rank, folder, "90%", model, optimizer=kind(model.parameters(), **given))
        for _ in range(3):
            step(rows_of(rank))
        return weights(model)
    step = compiled(rank, folder, "90%", model)
    optimizer = kind(model.parameters(), **given)
    for _ in range(3):
        optimizer.zero_grad()
        step(rows_of(rank))
        optimizer.step()
    return weights(model)


def optimizers(rank: int, folder: str) -> list[tuple[list[torch.Tensor], list[torch.Tensor]]]:
    kinds: list[tuple[type[torch.optim.Optimizer], dict[str, Any]]] = [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.AdamW, {"lr": 0.01}),
    ]
    return [(trained(rank, folder, kind, True, **given), trained(rank, folder, kind, False, **given)) for kind, given in kinds]


def fully_sharded_net(**options: Any) -> Net:
    model = seeded_net()
    for block in model:
        fully_shard(block, **options)
    fully_shard(model, **options)
    return model


def taken_over(rank: int, folder: str) -> tuple[list[torch.Tensor], float, float]:
    """A model that fully_shard has prepared: gradients of a planned step, and losses with and without it."""
    model = fully_sharded_net()
    step = compiled(rank, folder, "80%", model, shard=None)
    loss = step(rows_of(rank))
    with torch.no_grad():
        eager = squared(model, rows_of(rank))
    return gradients(model), float(loss), float(eager)


def refusal(run: Callable[[], Any]) -> str:
    try:
        run()
    except checkmate.Error as error:
        return str(error)
    return "nothing was refused"


def failing(_model: nn.Module, _x: torch.Tensor) -> torch.Tensor:
    raise ValueError("no loss here")


def refusals(rank: int, folder: str) -> dict[str, str]:
    """What ranks that differ are told, and what cannot be sharded."""
    x = rows_of(rank)
    told = {
        "model": refusal(lambda: compiled(rank, folder, "90%", seeded_net(4 + rank))),
        "budget": refusal(lambda: compiled(rank, folder, f"{90 + rank}%", seeded_net())),
        "batch": refusal(
            lambda: checkmate.compile(seeded_net(), squared, (x[: 9 + rank],), shard=dist.group.WORLD, network=NO_LATENCY)
        ),
        "code": refusal(
            lambda: checkmate.compile(
                seeded_net(), failing if rank else squared, (x,), shard=dist.group.WORLD, network=NO_LATENCY
            )
        ),
    }
    version = checkmate.__version__
    checkmate.__version__ = f"{version}.{rank}"
    told["version"] = refusal(lambda: compiled(rank, folder, "90%", seeded_net()))
    checkmate.__version__ = version
    scalar = seeded_net()
    scalar.register_parameter("scale", nn.Parameter(torch.tensor(1.0)))
    told["scalar"] = refusal(lambda: compiled(rank, folder, "90%", scalar))
    mixed = fully_sharded_net(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    told["mixed"] = refusal(lambda: compiled(rank, folder, "90%", mixed, shard=None))
    left_out = seeded_net()
    fully_shard(left_out, ignored_params=set(left_out[-1].parameters()))
    told["ignored"] = refusal(lambda: compiled(rank, folder, "90%", left_out, shard=None))
    return told


def lost_rank(rank: int, folder: str) -> str:
    """What the others are told when a rank dies."""
    step = compiled(rank, folder, "90%", seeded_net())
    if rank == 1:
        os._exit(0)
    try:
        for _ in range(3):
            step(rows_of(rank))
    except RuntimeError as error:
        return str(error)
    return "nothing happened"


def all_of_two(rank: int, folder: str) -> dict[str, Any]:
    """One start of processes, which takes longer than what they do. At its end, the last one dies."""
    found: dict[str, Any] = {
        "budgets": budgets(rank, folder),
        "batches": batches(rank, folder),
        "optimizers": optimizers(rank, folder),
        "taken over": taken_over(rank, folder),
        "refusals": refusals(rank, folder),
    }
    torch.save(found, f"{folder}/{rank}.pt")
    return found | {"lost": lost_rank(rank, folder)}


def hybrid(rank: int, folder: str) -> tuple[list[torch.Tensor], bool]:
    """Sharded over two ranks, and that twice."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    step = compiled(rank, folder, "70%", seeded_net(), shard=mesh)
    step(rows_of(rank))
    made = gradients(step.model)
    step.model.zero_grad()
    seen = checkmate.verify(step, (rows_of(rank),), repeats=1, eager=False)
    return made, seen.holds and seen.measured_peak == seen.predicted_peak


class Trainer:
    """AdamW within the step, on a part of a batch that is the same for any number of ranks."""

    def __init__(self, rank: int, folder: str, shard: dist.ProcessGroup) -> None:
        self.model = seeded_net()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.group = shard
        self.rows = torch.cat([rows_of(each) for each in range(4)]).chunk(shard.size())[rank]
        options = {"cache": folder, "time_limit": 0.5, "network": NO_LATENCY, "optimizer": self.optimizer}
        self.step = checkmate.compile(self.model, squared, (self.rows,), "90%", shard=shard, **options)

    def train(self, steps: int) -> list[torch.Tensor]:
        for _ in range(steps):
            self.step(self.rows)
        return weights(self.model)

    def state(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def save(self, folder: str) -> None:
        save(self.state(), checkpoint_id=folder, process_group=self.group)

    def load(self, folder: str) -> None:
        state = self.state()
        load(state, checkpoint_id=folder, process_group=self.group)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def checkpoints(rank: int, folder: str) -> dict[int, list[torch.Tensor]]:
    """Weights after four steps: of four ranks, and of two and of one that take over after two."""
    saved = f"{folder}/checkpoint"
    assert dist.group.WORLD is not None, "the ranks have met"
    four = Trainer(rank, folder, dist.group.WORLD)
    four.train(2)
    four.save(saved)
    found = {4: four.train(2)}
    for ranks in (2, 1):
        group = dist.new_group(list(range(ranks)))
        if rank < ranks:
            fewer = Trainer(rank, folder, group)
            fewer.load(saved)
            found[ranks] = fewer.train(2)
        dist.barrier()
    return found


def all_of_four(rank: int, folder: str) -> dict[str, Any]:
    return {"hybrid": hybrid(rank, folder), "checkpoints": checkpoints(rank, folder)}
