"""Keras models that train inside a budget of bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkmate import Plan, _core
from checkmate.frontend.errors import CaptureError
from checkmate.frontend.timings import Timings
from checkmate.progress import ProgressOption
from checkmate.tensorflow.profiling import use_exact_allocator
from checkmate.tensorflow.step import LossFn, Options, Step
from checkmate.tensorflow.training import Training
from checkmate.tensorflow.verify import Verification, verify
from checkmate.tensorflow.versions import check_versions

__all__ = ["CaptureError", "Step", "Timings", "Training", "Verification", "compile", "fit", "verify"]

check_versions()
use_exact_allocator()


def compile(  # noqa: A001  (as checkmate.compile)
    model: Any,
    loss_fn: LossFn,
    example: Sequence[Any],
    budget: str | int | None = None,
    *,
    reserve: str | int = 0,
    costs: str = "measured",
    order: str = _core.default_order,
    time_limit: float = 10.0,
    gap: float = 2e-3,
    threads: int | None = None,
    seed: int = _core.default_seed,
    cache: str | os.PathLike[str] | None = None,
    plan: Plan | str | os.PathLike[str] | None = None,
    progress: ProgressOption = None,
    optimizer: Any = None,
) -> Step:
    """A training step of the Keras model that stays within the budget, with as little slow-down as can be found.

    ``loss_fn(model, *batch)`` returns a scalar loss, or a tuple with the loss first; it calls the model with ``training=True``.
    ``example`` is a batch. ``step(*batch)`` returns what ``loss_fn`` returned and the gradients of ``model.trainable_variables``;
    with an ``optimizer`` of Keras it updates them instead, and returns what ``loss_fn`` returned.

    ``budget`` covers everything that the step holds: variables, the batch, gradients, activations and the workspace of ops. It
    and the other arguments are those of :func:`checkmate.compile`.

    Compiling runs the step a few times to measure it, and restores the variables. Raises :class:`checkmate.InfeasibleError` with
    the bytes that are needed if the budget is too small, and :class:`CaptureError` if the step is not a graph of fixed shapes.
    """
    options = _options(
        budget=budget,
        reserve=reserve,
        costs=costs,
        order=order,
        time_limit=time_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        cache=cache,
        plan=plan,
        progress=progress,
        optimizer=optimizer,
    )
    return Step(model, loss_fn, example, options)


def fit(
    model: Any,
    budget: str | int | None = None,
    *,
    reserve: str | int = 0,
    costs: str = "measured",
    order: str = _core.default_order,
    time_limit: float = 10.0,
    gap: float = 2e-3,
    threads: int | None = None,
    seed: int = _core.default_seed,
    cache: str | os.PathLike[str] | None = None,
    plan: Plan | str | os.PathLike[str] | None = None,
    progress: ProgressOption = None,
) -> Training:
    """Has ``model.fit`` train within the budget. Your ``model.compile(...)`` and ``model.fit(...)`` stay as they are.

    The whole of ``model.train_step`` is planned when the first batch comes: both passes, the optimizer and metrics. What is
    returned has the ``plan``, the ``graph``, and ``report(path)``, from then on. The arguments are those of :func:`compile`.
    """
    options = _options(
        budget=budget,
        reserve=reserve,
        costs=costs,
        order=order,
        time_limit=time_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        cache=cache,
        plan=plan,
        progress=progress,
    )
    return Training(model, options)


def _options(*, cache: str | os.PathLike[str] | None, plan: Plan | str | os.PathLike[str] | None, **others: Any) -> Options:
    """With paths where there was text."""
    return Options(
        cache=None if cache is None else Path(cache),
        plan=Path(plan) if isinstance(plan, (str, os.PathLike)) else plan,
        **others,
    )
