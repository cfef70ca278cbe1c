"""A training step that stays within its budget, whatever batch comes."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
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


class PlannedSteps(ABC):
    """The planned steps of a model, one for each shape of batch: captured and planned when that first comes, and remembered. The
    one that was used least recently makes room when there are more than ``MOST_REMEMBERED``."""

    MOST_REMEMBERED = 16
    WARN_AFTER = 5  # preparations; and again whenever there are twice as many

    def __init__(self, model: Any, options: Options) -> None:
        self.model = model
        self.options = options
        self._compiled: OrderedDict[Any, CompiledStep] = OrderedDict()
        self._budget: int | None = None
        self._latest: CompiledStep | None = None
        self._preparations = 0
        self._next_warning = self.WARN_AFTER

    @property
    def latest(self) -> CompiledStep:
        """Of the latest batch."""
        if self._latest is None:
            raise Error("nothing is planned before the first batch has come")
        return self._latest

    @property
    def plan(self) -> Plan:
        """Of the latest batch."""
        return self.latest.plan

    @property
    def graph(self) -> Graph:
        """What was solved: the step's ops and storages, with their costs."""
        return self.latest.graph

    @property
    def timings(self) -> Timings:
        """How long planning took, for that batch."""
        return self.latest.timings

    def report(self, path: str | os.PathLike[str], points: Iterable[SweepPoint] = ()) -> None:
        """Writes the page of docs/report.md: the plan next to the step without recomputation."""
        write_file(os.fspath(path), self.plan.to_html(points))

    def __repr__(self) -> str:
        what = "nothing yet" if self._latest is None else repr(self.plan)
        return f"<checkmate.tensorflow.{type(self).__name__} of {type(self.model).__name__}: {what}>"

    @abstractmethod
    def plain_function(self, structure: Any) -> Callable[..., Any]:
        """The step as TensorFlow would run it, of the flat tensors of a batch."""

    def prepare(self, batch: Any, traced: Sequence[Any] | None = None) -> CompiledStep:
        """The planned step for such a batch: the one that is known, or a new one. ``traced``: specs of the batch's tensors with
        which TensorFlow would trace it, by default its own."""
        tensors, structure = flat_batch(batch)
        variables = tuple(id(variable) for variable in self.model.trainable_variables)
        key = (repr(structure), variables, tuple((tuple(t.shape), t.dtype) for t in tensors))
        if key in self._compiled:
            self._compiled.move_to_end(key)
        else:
            self._warn_if_often(tensors)
            self._compiled[key] = self._build(tensors, structure, traced)
            if len(self._compiled) > self.MOST_REMEMBERED:
                self._compiled.popitem(last=False)
        self._latest = self._compiled[key]
        return self._latest

    def _build(self, tensors: Sequence[Any], structure: Any, traced: Sequence[Any] | None) -> CompiledStep:
        similar = next(reversed(self._compiled.values()), None)
        # A share becomes bytes once, from the first batch: a smaller one has as much.
        options = self.options if self._budget is None else replace(self.options, budget=self._budget)
        specs = traced or [tf.TensorSpec(t.shape, t.dtype) for t in tensors]
        name = type(self.model).__name__
        compiled = build(self.plain_function(structure), specs, tensors, name, options, similar.plan if similar else None)
        if options.budget is not None:
            self._budget = compiled.plan.budget
        return compiled

    def _warn_if_often(self, tensors: Sequence[Any]) -> None:
        self._preparations += 1
        if self._preparations < self._next_warning:
            return
        self._next_warning = 2 * self._preparations
        shapes = ", ".join(str(t.shape.as_list()) for t in tensors)
        warnings.warn(
            f"the step has been captured and planned {self._preparations} times, now for shapes {shapes}. Each time costs a "
            "capture and a search: pad batches to a few shapes",
            stacklevel=4,
        )


class Step(PlannedSteps):
    """`loss, gradients = step(*batch)`; with an optimizer, `loss = step(*batch)`.

    Made by :func:`checkmate.tensorflow.compile`. Gradients are those of ``model.trainable_variables``, in their order, and None
    where the loss does not depend on one. Where ``loss_fn`` returns a tuple, that takes the place of the loss.
    """

    def __init__(self, model: Any, loss_fn: LossFn, example: Sequence[Any], options: Options) -> None:
        super().__init__(model, options)
        self.loss_fn = loss_fn
        if options.optimizer is not None:
            options.optimizer.build(model.trainable_variables)
        self.prepare(tuple(example))

    def __call__(self, *batch: Any) -> Any:
        """One step on a batch."""
        return self.prepare(batch)(*flat_batch(batch)[0])

    def plain_function(self, structure: Any) -> Callable[..., Any]:
        """The step as TensorFlow would run it, of the flat tensors of a batch."""
        variables, optimizer = self.model.trainable_variables, self.options.optimizer

        def step(*tensors: Any) -> Any:
            with tf.GradientTape() as tape:
                returned = self.loss_fn(self.model, *packed_batch(structure, tensors))
                loss = returned[0] if isinstance(returned, (tuple, list)) else returned
                scaled = loss if optimizer is None else optimizer.scale_loss(loss)
            gradients = tape.gradient(scaled, [variable.value for variable in variables])
            if optimizer is None:
                return returned, gradients
            optimizer.apply_gradients(list(zip(gradients, variables, strict=True)))
            return returned

        return step


def flat_batch(batch: Any) -> tuple[list[Any], Any]:
    """Its tensors, and the structure to pack them into, with True in their places."""
    tensors = []
    for leaf in tf.nest.flatten(batch):
        if isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)):
            raise Error(
                f"the batch has a {type(leaf).__name__}, whose size depends on values: make it dense outside of the step, with "
                ".to_tensor() or tf.sparse.to_dense()"
            )
        if leaf is not None:
            tensors.append(tf.convert_to_tensor(leaf))
    return tensors, tf.nest.map_structure(lambda leaf: None if leaf is None else True, batch)


def packed_batch(structure: Any, tensors: Sequence[Any]) -> Any:
    """The batch of these tensors."""
    values = iter(tensors)
    return tf.nest.map_structure(lambda leaf: None if leaf is None else next(values), structure)
