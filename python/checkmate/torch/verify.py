"""Whether a planned step computes what the model does, and holds what it promised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from checkmate import Error, Plan
from checkmate._core import bytes_text
from checkmate.torch.memory import peak_bytes
from checkmate.torch.step import Prepared, Step


@dataclass(frozen=True)
class Difference:
    """The largest absolute differences; 0 is bitwise equal."""

    loss: float
    gradients: float
    buffers: float

    @property
    def none(self) -> bool:
        """Whether all is bitwise equal."""
        return self.loss == self.gradients == self.buffers == 0


@dataclass(frozen=True)
class Verification:
    """What was promised, and what was seen."""

    from_keep_all: Difference
    """The planned step against the same captured step without recomputation."""
    from_eager: Difference | None
    """The planned step against plain PyTorch."""
    budget: int
    predicted_peak: int
    measured_peak: int
    keep_all_peak: int
    """Measured, of the step without recomputation."""
    eager_peak: int | None
    predicted_overhead: float
    seconds: float
    """Of the planned step, the best of those timed."""
    keep_all_seconds: float
    eager_seconds: float | None

    @property
    def holds(self) -> bool:
        """Same numbers as without recomputation, within the budget."""
        return self.from_keep_all.none and self.measured_peak <= self.budget

    @property
    def measured_overhead(self) -> float:
        """Against the same captured step without recomputation."""
        return self.seconds / self.keep_all_seconds

    def __str__(self) -> str:
        lines = [
            f"{'holds' if self.holds else 'DOES NOT HOLD'}: peak {bytes_text(self.measured_peak)} of "
            f"{bytes_text(self.budget)} (predicted {bytes_text(self.predicted_peak)}, "
            f"without recomputation {bytes_text(self.keep_all_peak)})",
            f"time {self.seconds:.3f} s, {self.measured_overhead:.3f}x the step without recomputation "
            f"(predicted {self.predicted_overhead:.3f}x)",
            f"against the step without recomputation: {_told(self.from_keep_all)}",
        ]
        if self.from_eager and self.eager_peak is not None and self.eager_seconds is not None:
            lines.append(
                f"against eager PyTorch ({bytes_text(self.eager_peak)}, {self.eager_seconds:.3f} s): {_told(self.from_eager)}"
            )
        return "\n".join(lines)


def verify(step: Step, batch: Sequence[Any], *, eager: bool = True, repeats: int = 3) -> Verification:
    """Runs the planned step, the same step without recomputation and (unless `eager` is false) plain PyTorch from the same
    state, and compares. Afterwards parameters, gradients, buffers and random generators are as before.

    Peaks come from the allocator's events. The last two need the memory that the plan saves.
    """
    if repeats < 1:
        raise Error(f"repeats is 1 or more, got {repeats}")
    planned = step.prepare(batch)
    keep_all = planned.with_plan(Plan.keep_all(planned.graph))
    with _restored(step) as restore:
        runs = _Runs(step, planned, restore, repeats)
        ours, kept, *others = runs.measure(
            lambda: step.execute(planned, batch),
            lambda: step.execute(keep_all, batch),
            *([lambda: _eager(step, batch)] if eager else []),
        )
        plain = others[0] if others else None
    return Verification(
        from_keep_all=_difference(ours, kept),
        from_eager=_difference(ours, plain) if plain else None,
        budget=planned.plan.budget,
        predicted_peak=planned.plan.peak,
        measured_peak=ours.peak,
        keep_all_peak=kept.peak,
        eager_peak=plain.peak if plain else None,
        predicted_overhead=planned.plan.overhead,
        seconds=ours.seconds,
        keep_all_seconds=kept.seconds,
        eager_seconds=plain.seconds if plain else None,
    )


def _eager(step: Step, batch: Sequence[Any]) -> Any:
    returned = step.loss_fn(step.model, *batch)
    loss = returned[0] if isinstance(returned, tuple) else returned
    loss.backward()
    return loss.detach()


@dataclass
class _Result:
    loss: torch.Tensor
    gradients: list[torch.Tensor | None]
    buffers: list[torch.Tensor]
    peak: int
    seconds: float = float("inf")


@dataclass
class _Runs:
    step: Step
    prepared: Prepared
    restore: Callable[[], None]
    repeats: int

    def measure(self, *runs: Callable[[], Any]) -> list[_Result]:
        results = [self._result(run) for run in runs]
        # In turns, so that what else the machine does falls on all of them.
        for _ in range(self.repeats):
            for run, result in zip(runs, results, strict=True):
                self.restore()
                begin = time.perf_counter()
                run()
                result.seconds = min(result.seconds, time.perf_counter() - begin)
        self.restore()
        return results

    def _result(self, run: Callable[[], Any]) -> _Result:
        returned = run()
        loss = returned[0] if isinstance(returned, tuple) else returned
        del returned
        gradients = [None if p.grad is None else p.grad.cpu().clone() for p in self.step.model.parameters()]
        buffers = [b.cpu().clone() for b in self.step.model.buffers()]
        self.restore()
        peak = peak_bytes(run, self.prepared.capture.device)
        self.restore()
        return _Result(loss.cpu(), gradients, buffers, peak + self.prepared.graph.fixed_bytes)


@contextmanager
def _restored(step: Step) -> Iterator[Callable[[], None]]:
    """Gives a function that puts gradients, buffers and random state back, and calls it at the end."""
    model = step.model
    gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    buffers = [b.clone() for b in model.buffers()]
    random = torch.get_rng_state()

    def restore() -> None:
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.grad = None if gradient is None else gradient.clone()
            for buffer, saved in zip(model.buffers(), buffers, strict=True):
                buffer.copy_(saved)
        torch.set_rng_state(random)

    try:
        yield restore
    finally:
        restore()


def _difference(a: _Result, b: _Result) -> Difference:
    return Difference(_distance([a.loss], [b.loss]), _distance(a.gradients, b.gradients), _distance(a.buffers, b.buffers))


def _distance(first: Sequence[torch.Tensor | None], second: Sequence[torch.Tensor | None]) -> float:
    largest = 0.0
    for a, b in zip(first, second, strict=True):
        if a is None and b is None:
            continue
        if a is None or b is None:
            return float("inf")
        if not torch.equal(a, b):
            largest = max(largest, float((a.double() - b.double()).abs().max()))
    return largest


def _told(difference: Difference) -> str:
    if difference.none:
        return "loss, gradients and buffers bitwise equal"
    return (
        f"loss differs by {difference.loss:.3g}, gradients by at most {difference.gradients:.3g}, "
        f"buffers by at most {difference.buffers:.3g}"
    )
