"""Training loops as people have them, in PyTorch alone. docs/recipes.md shows them in short.

Each takes a *way* to get from a model, its loss function and an example to something that gives a loss for a batch, and is the
same loop whatever the way. It trains ten steps and returns the model. Quick to import: the ranks of a test do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import checkmate
from checkmate.torch import Step, peak_bytes
from checkmate.torch.backend import entry
from checkmate.torch.backend.runner import PlannedGraph
from checkmate.torch.memory import begin_events, end_events

STEPS = 10
FIRST_STEPS = 4  # of a loop with two losses: each is measured once
Way = Callable[[nn.Module, Callable[..., Any], tuple[Any, ...]], Callable[..., Any]]


def plain(model: nn.Module, loss_fn: Callable[..., Any], _example: tuple[Any, ...]) -> Callable[..., Any]:
    """Without us."""
    return lambda *batch: loss_fn(model, *batch)


class MeasuredWay(Protocol):
    """A way of ours, which makes sure that each step stays within its budget, and counts."""

    steps: int
    steps_that_recompute: int

    def __call__(self, model: nn.Module, loss_fn: Callable[..., Any], example: tuple[Any, ...]) -> Callable[..., Any]: ...

    def close(self) -> None: ...


class Compiled:
    """By checkmate.compile."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self.steps = 0
        self.steps_that_recompute = 0

    def __call__(self, model: nn.Module, loss_fn: Callable[..., Any], example: tuple[Any, ...]) -> Callable[..., Any]:
        step = checkmate.compile(model, loss_fn, example, "80%", deliver="backward", time_limit=2, cache=self._cache)
        return lambda *batch: self._measured(step, batch) if torch.is_grad_enabled() else step(*batch)

    def close(self) -> None:
        """Nothing is left to do."""

    def _measured(self, step: Step, batch: tuple[Any, ...]) -> Any:
        returned: list[Any] = []
        peak = peak_bytes(lambda: returned.append(step(*batch)), torch.device("cpu"))
        assert peak + step.graph.fixed_bytes <= step.plan.budget
        self.steps += 1
        self.steps_that_recompute += bool(step.plan.recomputed)
        return returned[0]


class Wrapped:
    """By checkmate.wrap: torch.compile with our backend. Each step is measured from its forward pass to the end of its backward
    pass, but for the first ones, in which the backend measures the loop."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._watching = False
        self.steps = 0
        self.steps_that_recompute = 0
        torch._dynamo.reset()
        entry.reset()
        self._backward = torch.Tensor.backward
        measured = lambda loss, *more, **named: self._end(partial(self._backward, loss, *more, **named))  # noqa: E731
        torch.Tensor.backward = measured  # type: ignore[method-assign, assignment]

    def close(self) -> None:
        """Measures no longer."""
        torch.Tensor.backward = self._backward  # type: ignore[method-assign]
        if self._watching:
            end_events()

    def __call__(self, model: nn.Module, loss_fn: Callable[..., Any], example: tuple[Any, ...]) -> Callable[..., Any]:  # noqa: ARG002
        options = {"budget": "85%", "time_limit": 2, "cache": self._cache}
        if isinstance(model, DistributedDataParallel):  # Dynamo cannot follow it, but what is inside
            model.module = checkmate.wrap(model.module, **options)
            return lambda *batch: self._begin(partial(loss_fn, model, *batch))
        if isinstance(model, Gan):  # which is called by its parts
            model.generator, model.discriminator = (checkmate.wrap(m, **options) for m in (model.generator, model.discriminator))
            return lambda *batch: self._begin(partial(loss_fn, model, *batch))
        wrapped = checkmate.wrap(model, **options)
        return lambda *batch: self._begin(partial(loss_fn, wrapped, *batch))

    def _begin(self, forward: Callable[[], Any]) -> Any:
        if torch.is_grad_enabled() and self.steps >= FIRST_STEPS and not self._watching:
            begin_events()
            self._watching = True
        return forward()

    def _end(self, backward: Callable[[], None]) -> None:
        backward()
        self.steps += 1
        self.steps_that_recompute += any(g.passes.planned.plan.recomputed for g in entry.planned_graphs())
        if self._watching:
            self._watching = False
            peak = max(accumulate(e.cpu_memory_usage() for e in end_events() if "alloc" in str(e.kind())), default=0)
            assert peak <= max(map(room, entry.planned_graphs()))


def room(graph: PlannedGraph) -> int:
    """Bytes that its budget leaves for what it allocates, and for what the loop does."""
    planned = graph.passes.planned
    return planned.plan.budget - planned.graph.fixed_bytes + graph.demand.reserve


class Layers(nn.Sequential):
    """Deep and narrow: activations take most of the memory."""

    def __init__(self, layers: int = 6, width: int = 32) -> None:
        parts = ([nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(0.1)] for _ in range(layers))
        super().__init__(*(module for part in parts for module in part))


def batches(count: int = STEPS, rows: int = 256, width: int = 32) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(7)
    for _ in range(count):
        yield tuple(torch.randn(2, rows, width, generator=generator))


def loss_fn(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return functional.mse_loss(model(x), y)


def plain_pytorch(way: Way) -> nn.Module:
    model = Layers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    step = way(model, loss_fn, next(batches()))
    for batch in batches():
        optimizer.zero_grad()
        step(*batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def gradient_accumulation(way: Way) -> nn.Module:
    model = Layers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = way(model, loss_fn, next(batches()))
    for number, batch in enumerate(batches(4 * STEPS), start=1):
        (step(*batch) / 4).backward()
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    return model


def autocast_and_scaler(way: Way) -> nn.Module:
    model = Layers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu")

    def in_bfloat16(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss_fn(model, x, y)

    step = way(model, in_bfloat16, next(batches()))
    for batch in batches():
        optimizer.zero_grad()
        scaler.scale(step(*batch)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return model


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(Layers(3), nn.Linear(32, 32))
        self.discriminator = nn.Sequential(Layers(3), nn.Linear(32, 1))


def discriminator_loss(discriminator: nn.Module, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    return functional.softplus(-discriminator(real)).mean() + functional.softplus(discriminator(fake)).mean()


def generator_loss(gan: Gan, noise: torch.Tensor) -> torch.Tensor:
    return functional.softplus(-gan.discriminator(gan.generator(noise))).mean()


def two_optimizers(way: Way) -> nn.Module:
    gan = Gan()
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-3) for part in (gan.discriminator, gan.generator)]
    noise, real = next(batches())
    discriminator_step = way(gan.discriminator, discriminator_loss, (real, noise))
    generator_step = way(gan, generator_loss, (noise,))
    for noise, real in batches():
        with torch.no_grad():
            fake = gan.generator(noise)
        gan.zero_grad()
        discriminator_step(real, fake).backward()
        optimizers[0].step()
        gan.zero_grad()
        generator_step(noise).backward()  # gives the discriminator gradients too, which nobody uses
        optimizers[1].step()
    return gan


def distributed(way: Way, rank: int) -> nn.Module:
    """On each of two ranks; every second step only adds up."""
    model = DistributedDataParallel(Layers())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    halves = [[tensor.chunk(2)[rank] for tensor in batch] for batch in batches(2 * STEPS, 512)]
    step = way(model, loss_fn, tuple(halves[0]))
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        optimizer.zero_grad()
        with model.no_sync():
            (step(*first) / 2).backward()
        (step(*second) / 2).backward()
        optimizer.step()
    return model


def weights_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """By the names that they have without torch.compile."""
    return {name.replace("_orig_mod.", ""): weight for name, weight in model.state_dict().items()}


def on_a_rank(way: Callable[[Path], MeasuredWay], rank: int, folder: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The weights after our way and after the plain one, and how many steps were measured."""
    ours = way(Path(folder))
    torch.manual_seed(0)
    trained = weights_of(distributed(ours, rank))
    ours.close()
    torch.manual_seed(0)
    return trained, distributed(plain, rank).state_dict(), ours.steps
