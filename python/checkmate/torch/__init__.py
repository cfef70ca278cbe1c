"""PyTorch models that train inside a budget of bytes."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from checkmate import Error, Plan, _core
from checkmate.frontend.timings import Timings
from checkmate.progress import ProgressOption
from checkmate.torch.backend.owners import remember
from checkmate.torch.backend.settings import options
from checkmate.torch.capture import capture
from checkmate.torch.errors import CaptureError
from checkmate.torch.estimate import Estimate, estimate
from checkmate.torch.memory import peak_bytes
from checkmate.torch.optimizer import StepOptimizer
from checkmate.torch.options import Options
from checkmate.torch.peak import Part
from checkmate.torch.sharding.estimate import Accelerator, ShardedEstimate
from checkmate.torch.sharding.interconnect import Interconnect
from checkmate.torch.step import Step
from checkmate.torch.trace import LossFn
from checkmate.torch.verify import Verification, verify

__all__ = [
    "Accelerator",
    "CaptureError",
    "Estimate",
    "Interconnect",
    "Part",
    "ShardedEstimate",
    "Step",
    "Timings",
    "Verification",
    "capture",
    "compile",
    "estimate",
    "options",
    "peak_bytes",
    "verify",
    "wrap",
]


def wrap(model: torch.nn.Module, budget: str | int, **given: Any) -> torch.nn.Module:
    """The model for a loop of your own: call it, and ``backward()`` on what you make of its results, as ever.

    It is ``torch.compile(model, backend="checkmate", options={"budget": budget, ...})``, and the budget also covers parameters
    and buffers of the model that no graph reads. It covers both passes and, from the second or third step on, what the loop
    holds between them. Other options are those of :func:`compile`: ``reserve``, ``kernels``, ``costs``, ``order``,
    ``time_limit``, ``gap``, ``threads``, ``seed``, ``cache``, ``progress``.
    """
    remember(model)
    return torch.compile(model, backend="checkmate", options={"budget": budget, **given})  # type: ignore[return-value]


def compile(  # noqa: A001  (as torch.compile)
    model: torch.nn.Module,
    loss_fn: LossFn,
    example: Sequence[Any],
    budget: str | int | None = None,
    *,
    reserve: str | int = 0,
    kernels: str = "aten",
    costs: str = "measured",
    order: str = _core.default_order,
    time_limit: float = 10.0,
    gap: float = 2e-3,
    threads: int | None = None,
    seed: int = _core.default_seed,
    cache: str | os.PathLike[str] | None = None,
    plan: Plan | str | os.PathLike[str] | None = None,
    progress: ProgressOption = None,
    process_group: Any = None,
    shard: Any = None,
    network: Interconnect | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    clip_value: float | None = None,
    deliver: str = "now",
) -> Step:
    """A training step of the model that stays within the budget, with as little slow-down as can be found.

    ``loss_fn(model, *batch)`` returns a scalar loss, or a tuple with the loss first. ``example`` is a batch. Its shapes matter;
    its values are read only where they are indices into tables.

    ``budget`` covers everything that the step holds: parameters, buffers, the batch, gradients, activations and the workspace of
    ops. It is a number of bytes; text such as ``"2GiB"``; a share such as ``"60%"`` of what the step takes without recomputation,
    to which the fixed bytes (parameters, buffers, the batch, the reserve) are added; or ``None`` for no recomputation.
    ``reserve`` is for memory that the step does not see, such as the optimizer's state. It is part of the budget and of the peak.

    ``kernels``: ``"aten"`` runs eager's own ops, so that numbers are bitwise eager's; ``"fused"`` has torch's compiler make one
    kernel of many ops: less memory for the same time, and numbers that are the same in every plan, but rounded otherwise.
    It needs a C++ compiler.

    ``costs``: ``"measured"`` runs the step a few times, within the budget if it does not fit otherwise, and remembers what each
    op took; ``"flops"`` estimates the costs, without workspace. Costs and plans are kept in ``cache`` (a folder; by default the
    user's): the same step is not measured or searched for again. ``plan``, a plan or its file, is taken instead of a search.
    ``gap``: the search ends when the plan is proven to be this close to the best; smaller differences cannot be measured.
    ``order``, ``time_limit``, ``threads``, ``seed``, ``progress``: see :func:`checkmate.solve`.

    With an ``optimizer`` (SGD, Adam, AdamW), the step also updates the parameters: each gradient is used and freed as soon as it
    is made, and the optimizer's state counts as fixed memory. Do not call ``optimizer.step()`` then. Learning rates are read at
    each step. ``clip_value`` clips each element of the gradients first; clipping by the norm of all gradients needs all of them
    at once, and so an optimizer outside of the step.

    ``deliver``: ``"now"`` leaves the gradients in ``.grad`` when the step returns. With ``"backward"``, the loss holds them, and
    ``loss.backward()`` delivers them as autograd does: multiplied by the gradient that comes to the loss (gradient scalers,
    ``loss / n``), added to what is in ``.grad``, with the hooks of parameters. A loss that is dropped leaves none. Under
    ``torch.no_grad()`` such a step calls ``loss_fn`` and no more.

    With a model in ``DistributedDataParallel``, or a ``process_group``, the first rank plans for all, and gradients are averaged.

    ``shard``: a process group, or a device mesh (of two dimensions: shards over the second, replicas over the first). Each
    parameter is sharded by its first dimension, as ``fully_shard`` does it, and the plan decides how often a step gathers it. A
    model that ``fully_shard`` has prepared is taken over without it. ``network`` says what messages cost; by default they are
    measured.

    Compiling changes neither the model nor the state of random generators. Raises :class:`checkmate.InfeasibleError` with the
    bytes that are needed if the budget is too small, and :class:`CaptureError` if the step is not a graph of fixed shapes.
    """
    if clip_value is not None and optimizer is None:
        raise Error("clip_value needs optimizer=: without it, clip the gradients after the step")
    chosen = Options(
        budget=budget,
        reserve=reserve,
        costs=costs,
        order=order,
        time_limit=time_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        cache=None if cache is None else Path(cache),
        plan=Path(plan) if isinstance(plan, (str, os.PathLike)) else plan,
        progress=progress,
        process_group=process_group,
        shard=shard,
        network=network,
        optimizer=None if optimizer is None else StepOptimizer(optimizer, clip_value),
        kernels=kernels,
        deliver=deliver,
    )
    if shard is None and not any(type(p).__name__ == "DTensor" for p in model.parameters()):
        if network is not None:
            raise Error("network= describes what connects the processes that share parameters: pass shard= too, or leave it out")
        return Step(model, loss_fn, example, chosen)
    sharded = importlib.import_module("checkmate.torch.sharding.step").ShardedStep  # FSDP takes a second to import
    return cast(Step, sharded(model, loss_fn, example, chosen))
