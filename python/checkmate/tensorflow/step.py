"""A training step that stays within its budget, whatever batch comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from checkmate import Error, Graph, Plan, SweepPoint
from checkmate._core import write_file
from checkmate.frontend.options import PlanningOptions
from checkmate.frontend.timings import Timings
from checkmate.tensorflow.pipeline import CompiledStep, build

LossFn = Callable[..., Any]


@dataclass(frozen=True)
class Options(PlanningOptions):
    """The arguments of the same names."""

    optimizer: Any = None


class Step:
    """`loss, gradients = step(*batch)`; with an optimizer, `loss = step(*batch)`.

    Made by :func:`checkmate.tensorflow.compile`. A batch of another shape is captured and planned when it first comes, and
    remembered. Gradients are those of ``model.trainable_variables``, in their order, and None where the loss does not depend on
    one.
    """

    def __init__(self, model: Any, loss_fn: LossFn, example: Sequence[Any], options: Options) -> None:
        self.model = model
        self.loss_fn = loss_fn
        self.options = options
        if options.optimizer is not None:
            options.optimizer.build(model.trainable_variables)
        self._compiled: dict[tuple[Any, ...], CompiledStep] = {}
        self._budget: int | None = None
        self._latest = self.prepare(example)

    @property
    def plan(self) -> Plan:
        """Of the latest batch, or of the example."""
        return self._latest.plan

    @property
    def graph(self) -> Graph:
        """What was solved: the step's ops and storages, with their costs."""
        return self._latest.graph

    @property
    def timings(self) -> Timings:
        """How long compiling took, for that batch."""
        return self._latest.timings

    def __repr__(self) -> str:
        return f"<checkmate.tensorflow.Step of {type(self.model).__name__}: {self.plan!r}>"

    def report(self, path: str | os.PathLike[str], points: Iterable[SweepPoint] = ()) -> None:
        """Writes the page of docs/report.md: the plan next to the step without recomputation."""
        write_file(os.fspath(path), self.plan.to_html(points))

    def __call__(self, *batch: Any) -> Any:
        """One step on a batch."""
        self._latest = self.prepare(batch)
        return self._latest(*flat_batch(batch)[0])

    def prepare(self, batch: Sequence[Any]) -> CompiledStep:
        """The planned step for such a batch: the one that is known, or a new one."""
        tensors, structure = flat_batch(batch)
        frozen = tuple(id(variable) for variable in self.model.trainable_variables)
        key = (str(structure), frozen, tuple((tuple(t.shape), t.dtype) for t in tensors))
        if key not in self._compiled:
            # A share becomes bytes once, from the first batch: a smaller one has as much.
            options = self.options if self._budget is None else replace(self.options, budget=self._budget)
            specs = [tf.TensorSpec(t.shape, t.dtype) for t in tensors]
            last = next(reversed(self._compiled.values()), None)
            start = last.plan if last else None
            compiled = build(self.plain_function(structure), specs, tensors, type(self.model).__name__, options, start)
            if options.budget is not None:
                self._budget = compiled.plan.budget
            self._compiled[key] = compiled
        return self._compiled[key]

    def plain_function(self, structure: Any) -> Callable[..., Any]:
        """The step as TensorFlow would run it, of flat tensors."""
        variables, optimizer = self.model.trainable_variables, self.options.optimizer

        def step(*tensors: Any) -> Any:
            batch = tf.nest.pack_sequence_as(structure, tensors)
            with tf.GradientTape() as tape:
                returned = self.loss_fn(self.model, *batch)
                loss = returned[0] if isinstance(returned, (tuple, list)) else returned
                scaled = loss if optimizer is None else optimizer.scale_loss(loss)
            gradients = tape.gradient(scaled, [variable.value for variable in variables])
            if optimizer is None:
                return returned, gradients
            optimizer.apply_gradients(list(zip(gradients, variables, strict=True)))
            return returned

        return step


def flat_batch(batch: Sequence[Any]) -> tuple[list[Any], Any]:
    """Its tensors, and the structure to pack them into."""
    structure = tuple(batch)
    tensors = []
    for leaf in tf.nest.flatten(structure):
        if isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)):
            raise Error(
                f"the batch has a {type(leaf).__name__}, whose size depends on values: make it dense with .to_tensor() or "
                "tf.sparse.to_dense(), outside of the step"
            )
        tensors.append(tf.convert_to_tensor(leaf))
    return tensors, structure
