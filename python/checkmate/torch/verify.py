"""Checks that a planned step computes what the model computes, within its budget."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from checkmate import Error, Plan
from checkmate._core import bytes_text
from checkmate.frontend.comparison import Difference, Distance
from checkmate.torch.checks import loss_of
from checkmate.torch.guards import PLAIN
from checkmate.torch.memory import peak_bytes, resident_bytes
from checkmate.torch.pipeline import CompiledStep
from checkmate.torch.step import Step


@dataclass(frozen=True)
class Verification:
    """What was predicted, and what was measured."""

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
    arena: int | None
    """Bytes of the block in which the step's allocations lie, with what lies outside of it; None without the runtime in C++."""
    resident: int | None
    """Resident memory of a process while the step runs, above that before it, with the fixed bytes, which were there; measured
    in a child process, on one thread. None where the system does not tell."""
    predicted_overhead: float
    seconds: float
    """Of the planned step, the best of those timed."""
    keep_all_seconds: float
    eager_seconds: float | None
    error: float | None = None
    """Of the gradients, relative to those of the model in double precision, by their norms; None if that was not asked for."""
    eager_error: float | None = None
    """The same of plain PyTorch."""

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
            *([f"process: {_process(self)}"] if self.resident is not None else []),
            f"time {self.seconds:.3f} s, {self.measured_overhead:.3f}x the step without recomputation "
            f"(predicted {self.predicted_overhead:.3f}x)",
            f"against the step without recomputation: {self.from_keep_all}",
        ]
        if self.from_eager and self.eager_peak is not None and self.eager_seconds is not None:
            lines.append(f"against eager PyTorch ({bytes_text(self.eager_peak)}, {self.eager_seconds:.3f} s): {self.from_eager}")
        if self.error is not None:
            eager = "" if self.eager_error is None else f", those of eager PyTorch {self.eager_error:.2g}"
            lines.append(f"against double precision: gradients are off by {self.error:.2g} of their norm{eager}")
        return "\n".join(lines)


def _process(seen: Verification) -> str:
    arena = "" if seen.arena is None else f", arena {bytes_text(seen.arena)}"
    return f"resident memory {bytes_text(seen.resident or 0)}{arena}"


def verify(
    step: Step,
    batch: Sequence[Any],
    *,
    eager: bool = True,
    repeats: int = 3,
    resident: bool = True,
    reference: bool = False,
) -> Verification:
    """Runs the planned step, the same step without recomputation and (unless `eager` is false) plain PyTorch from the same
    state, and compares them. Restores parameters, gradients, buffers and random generators.

    Peaks come from the allocator's events. The last two need the memory that the plan saves. ``resident`` also runs the planned
    step in a child process, to see what the system says. ``reference`` also runs a copy of the model in double precision, which
    tells how far off the gradients are: those of fused kernels are not bitwise eager's.
    """
    if repeats < 1:
        raise Error(f"repeats must be 1 or more, got {repeats}")
    planned = step.prepare(batch)
    keep_all = planned.with_plan(Plan.keep_all(planned.graph))
    with _restored(step) as restore:
        runs = _Runs(step, planned, restore, repeats)
        ours, kept, *others = (
            runs.result(lambda: _whole(step, planned, batch)),
            runs.result(lambda: _whole(step, keep_all.generated(), batch)),  # by code of its own
            *([runs.result(lambda: _eager(step, batch))] if eager else []),
        )
        runs.time(
            (ours, lambda: _whole(step, planned, batch)),
            (kept, lambda: _whole(step, keep_all, batch)),
            *((plain, lambda: _eager(step, batch)) for plain in others),
        )
        plain = others[0] if others else None
        exact = _reference_gradients(step, batch) if reference else None
        grown = _resident(step, planned, batch, restore, ours.seconds) if resident else None
    fixed, addresses = planned.graph.fixed_bytes, planned.addresses
    return Verification(
        from_keep_all=_difference(ours, kept),
        from_eager=_difference(ours, plain) if plain else None,
        budget=planned.plan.budget,
        predicted_peak=planned.plan.peak,
        measured_peak=ours.peak,
        keep_all_peak=kept.peak,
        eager_peak=plain.peak if plain else None,
        arena=None if addresses is None else addresses.total + fixed,
        resident=None if grown is None else grown + fixed,
        predicted_overhead=planned.plan.overhead,
        seconds=ours.seconds,
        keep_all_seconds=kept.seconds,
        eager_seconds=plain.seconds if plain else None,
        error=None if exact is None else _relative_error(ours.gradients, exact),
        eager_error=None if exact is None or plain is None else _relative_error(plain.gradients, exact),
    )


def _reference_gradients(step: Step, batch: Sequence[Any]) -> list[torch.Tensor | None]:
    """Of a copy of the model, in double precision."""
    model = copy.deepcopy(step.model).double()
    model.zero_grad()
    precise = pytree.tree_map_only(torch.Tensor, lambda t: t.double() if t.is_floating_point() else t, tuple(batch))
    try:
        loss_of(step.loss_fn(model, *precise)).backward()
    except RuntimeError as error:
        raise Error(f"the model does not run in double precision, leave out reference=True: {error}") from error
    return [None if p.grad is None else p.grad.cpu() for p in model.parameters()]


def _relative_error(gradients: Sequence[torch.Tensor | None], exact: Sequence[torch.Tensor | None]) -> float:
    pairs = [
        (g.to_dense().double(), e.to_dense()) for g, e in zip(gradients, exact, strict=True) if g is not None and e is not None
    ]
    apart, whole = (
        sum(float(t.square().sum()) for t in tensors) for tensors in ([g - e for g, e in pairs], [e for _, e in pairs])
    )
    return math.sqrt(apart / whole) if whole else math.sqrt(apart)


def _resident(step: Step, planned: CompiledStep, batch: Sequence[Any], restore: Callable[[], None], seconds: float) -> int | None:
    if planned.program.trace.device.type != "cpu" or not step.group.alone or not hasattr(os, "fork"):
        return None

    def run() -> None:
        restore()
        _whole(step, planned, batch)

    def prepare() -> None:
        restore()
        step.release()

    return resident_bytes(prepare, run, 30 + 20 * seconds)


def _whole(step: Step, compiled: CompiledStep, batch: Sequence[Any]) -> Any:
    """The step with what delivers its gradients."""
    returned = step.execute(compiled, batch)
    if step.options.deliver == "backward":
        loss_of(returned).backward()
    return returned


def _eager(step: Step, batch: Sequence[Any]) -> Any:
    returned = step.loss_fn(step.model, *batch)
    loss_of(returned).backward()
    if step.options.optimizer is not None:
        step.options.optimizer.step(step.model.parameters())
        step.options.optimizer.optimizer.zero_grad()
    return returned


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
    compiled: CompiledStep
    restore: Callable[[], None]
    repeats: int

    def time(self, *runs: tuple[_Result, Callable[[], Any]]) -> None:
        """In turns, so that what else the machine does falls on all of them."""
        for _ in range(self.repeats):
            for result, run in runs:
                self.restore()
                begin = time.perf_counter()
                run()
                result.seconds = min(result.seconds, time.perf_counter() - begin)
        self.restore()

    def result(self, run: Callable[[], Any]) -> _Result:
        loss = loss_of(run()).detach()
        gradients = [None if p.grad is None else p.grad.cpu().clone() for p in self.step.model.parameters()]
        buffers = [b.detach().cpu().clone() for b in [*self.step.model.buffers(), *self.step.written_parameters()]]
        if self.step.options.optimizer is not None:
            buffers += [t.clone() for t in self.step.options.optimizer.tensors(self.step.model.parameters())]
        self.restore()
        peak = peak_bytes(run, self.compiled.program.trace.device)
        self.restore()
        return _Result(loss.cpu(), gradients, buffers, peak + self.compiled.graph.fixed_bytes)


@contextmanager
def _restored(step: Step) -> Iterator[Callable[[], None]]:
    """Gives a function that puts gradients, buffers, attributes and random state back, and calls it at the end."""
    model = step.model
    device = next(model.parameters()).device
    optimizer = step.options.optimizer
    undo = [partial(optimizer.restore, p, optimizer.backup(p)) for p in model.parameters()] if optimizer else []
    written = [(tensor, tensor.detach().clone()) for tensor in step.written_parameters()]
    gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    buffers = [
        (module._buffers, key, tensor, tensor.clone())
        for module in model.modules()
        for key, tensor in module._buffers.items()
        if tensor is not None
    ]
    attributes = [(module, {k: v for k, v in module.__dict__.items() if isinstance(v, PLAIN)}) for module in model.modules()]
    random = torch.get_rng_state()
    random_on_cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None

    def restore() -> None:
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.grad = None if gradient is None else gradient.clone()
            for table, key, buffer, saved in buffers:
                table[key] = buffer.copy_(saved)  # the step may have put another in its place
            for tensor, saved in written:
                tensor.copy_(saved)
        for module, plain in attributes:
            module.__dict__.update(plain)
        for update in undo:
            update()
        torch.set_rng_state(random)
        if random_on_cuda is not None:  # not tested on a machine with a GPU
            torch.cuda.set_rng_state(random_on_cuda, device)

    try:
        yield restore
    finally:
        restore()


def _difference(a: _Result, b: _Result) -> Difference:
    return Difference(_distance([a.loss], [b.loss]), _distance(a.gradients, b.gradients), _distance(a.buffers, b.buffers))


def _distance(first: Sequence[torch.Tensor | None], second: Sequence[torch.Tensor | None]) -> Distance:
    total = Distance()
    for a, b in zip(first, second, strict=True):
        if a is not None and b is not None:
            total |= distance(a, b)
        elif a is not None or b is not None:
            total |= Distance(differing=sum(t.numel() for t in (a, b) if t is not None), largest=float("inf"))
    return total


def distance(a: torch.Tensor, b: torch.Tensor) -> Distance:
    """Between two tensors of one shape and type."""
    if a.is_sparse and b.is_sparse and a._nnz() == b._nnz():
        return distance(a._indices(), b._indices()) | distance(a._values(), b._values())
    if a.layout != b.layout or a.is_sparse:
        return Distance(differing=a.numel(), largest=float("inf"))
    differs = (_bits(a) != _bits(b)).any(-1)
    if not differs.any():
        return Distance()
    kind = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(kind)[differs], b.to(kind)[differs]
    nan = a.isnan() | b.isnan()
    apart = (a - b).abs()[~nan]
    apart = apart.nan_to_num(nan=0.0, posinf=float("inf"))  # equal infinities; their bits differ in complex numbers only
    return Distance(int(differs.sum()), int(nan.sum()), float(apart.max()) if apart.numel() else 0.0)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of each element, in a last dimension of their own."""
    return tensor.contiguous().unsqueeze(-1).view(torch.uint8)
