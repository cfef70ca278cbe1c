"""Checks that a planned step computes what Keras computes, within its budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from checkmate import Error, Plan
from checkmate._core import bytes_text
from checkmate.frontend.comparison import Difference
from checkmate.tensorflow.planning_graph import held_bytes
from checkmate.tensorflow.profiling import profile
from checkmate.tensorflow.results import Result
from checkmate.tensorflow.step import PlannedSteps, flat_batch
from checkmate.tensorflow.variables import restored, written_values


@dataclass(frozen=True)
class Verification:
    """What was predicted, and what was measured."""

    from_keep_all: Difference
    """The planned step against the same captured step without recomputation."""
    from_eager: Difference
    """The planned step against TensorFlow's own function of it."""
    budget: int
    predicted_peak: int
    measured_peak: int
    keep_all_peak: int
    """Measured, of the step without recomputation."""
    eager_peak: int
    """Measured, of TensorFlow's own function."""
    predicted_overhead: float
    seconds: float
    """Of the planned step, the best of those timed."""
    keep_all_seconds: float
    eager_seconds: float

    @property
    def holds(self) -> bool:
        """Same numbers as without recomputation, within the budget."""
        return self.from_keep_all.none and self.measured_peak <= self.budget

    @property
    def measured_overhead(self) -> float:
        """Against the same captured step without recomputation."""
        return self.seconds / self.keep_all_seconds

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{'holds' if self.holds else 'DOES NOT HOLD'}: peak {bytes_text(self.measured_peak)} of "
                f"{bytes_text(self.budget)} (predicted {bytes_text(self.predicted_peak)}, "
                f"without recomputation {bytes_text(self.keep_all_peak)})",
                f"time {self.seconds:.3f} s, {self.measured_overhead:.3f}x the step without recomputation "
                f"(predicted {self.predicted_overhead:.3f}x)",
                f"against the step without recomputation: {self.from_keep_all}",
                f"against plain TensorFlow ({bytes_text(self.eager_peak)}, {self.eager_seconds:.3f} s): {self.from_eager}",
            ]
        )


def verify(step: PlannedSteps, batch: Any, *, repeats: int = 3) -> Verification:
    """Runs the planned step, the same step without recomputation and TensorFlow's own function of it from the same state, and
    compares them. Restores variables. Peaks come from the allocator's events; the last two need the memory that the plan saves.

    ``step`` is what :func:`compile` or :func:`fit` returned; ``batch`` is what the step takes: ``(x, y)`` for both.
    """
    if repeats < 1:
        raise Error(f"repeats must be 1 or more, got {repeats}")
    planned = step.prepare(tuple(batch))
    tensors, structure = flat_batch(tuple(batch))
    keep_all = planned.with_plan(Plan.keep_all(planned.graph))
    plain = tf.function(step.plain_function(structure), autograph=False)
    runs: list[Callable[[], Any]] = [
        lambda: planned(*tensors),
        lambda: keep_all(*tensors),
        lambda: plain(*tensors),
    ]
    captured = planned.program.captured
    results, peaks, seconds = [], [], [float("inf")] * len(runs)
    for run in runs:
        with restored(captured):
            results.append(Result.of(run(), written_values(captured)))
        with restored(captured):
            peaks.append(profile(run).peak + held_bytes(planned.graph))
    with restored(captured):
        for _ in range(repeats):  # in turns, so that what else the machine does falls on all of them
            for index, run in enumerate(runs):
                begin = time.perf_counter()
                run()
                seconds[index] = min(seconds[index], time.perf_counter() - begin)
    return Verification(
        from_keep_all=results[0].difference(results[1]),
        from_eager=results[0].difference(results[2]),
        budget=planned.plan.budget,
        predicted_peak=planned.predicted_peak,
        measured_peak=peaks[0],
        keep_all_peak=peaks[1],
        eager_peak=peaks[2],
        predicted_overhead=planned.plan.overhead,
        seconds=seconds[0],
        keep_all_seconds=seconds[1],
        eager_seconds=seconds[2],
    )
