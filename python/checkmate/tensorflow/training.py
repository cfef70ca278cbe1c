"""`model.fit` of Keras, as it is, with a planned step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from checkmate import Error
from checkmate.tensorflow.step import Options, PlannedSteps, flat_batch, packed_batch


class Training(PlannedSteps):
    """The steps of ``model.fit``: made by :func:`checkmate.tensorflow.fit`.

    The whole of ``model.train_step`` is planned: both passes, the optimizer, metrics. A short last batch has a plan of its own,
    within the same budget.
    """

    def __init__(self, model: Any, options: Options) -> None:
        super().__init__(model, options)
        model.make_train_function = self._make_train_function
        model.train_function = None  # one of Keras' own, or of another budget, would stay in use

    def plain_function(self, structure: Any) -> Callable[..., Any]:
        """The step as TensorFlow would run it, of the flat tensors of a batch."""

        def step(*tensors: Any) -> Any:
            return self.model.train_step(packed_batch(structure, tensors))

        return step

    def _make_train_function(self, force: bool = False) -> None:
        """In place of the model's own: Keras calls it before the first batch, and again after ``model.compile``."""
        if self.model.train_function is not None and not force:
            return
        self._refuse()
        self._compiled.clear()
        self._budget = None
        self.model.train_function = self._run

    def _refuse(self) -> None:
        if self.model.jit_compile:
            raise Error("XLA undoes a plan: call model.compile(..., jit_compile=False)")
        if self.model.run_eagerly:
            raise Error("a step that runs eagerly is no graph to plan: call model.compile(..., run_eagerly=False)")
        if self.model.distribute_strategy.num_replicas_in_sync > 1:
            raise Error(
                "model.fit under a strategy of several replicas is not planned yet: leave out checkmate.tensorflow.fit, or use "
                "one replica"
            )

    def _run(self, iterator: Any) -> Any:
        """What Keras calls: as many steps as it executes at once, or as there are batches left."""
        traced = _specs(iterator)
        returned = None
        for _ in range(self.model.steps_per_execution):
            try:
                data = next(iterator)
            except StopIteration:
                if returned is None:
                    raise
                break
            data = _without_optionals(data)
            returned = self.prepare(data, traced)(*flat_batch(data)[0])
        return returned


def _specs(iterator: Any) -> Sequence[Any] | None:
    """With which Keras would trace the step: a batch size that is not known beforehand is None in them."""
    spec = getattr(iterator, "element_spec", None)
    if spec is None:
        return None
    return [leaf for leaf in tf.nest.flatten(spec) if isinstance(leaf, tf.TensorSpec)]


def _without_optionals(data: Any) -> Any:
    """As Keras does: an empty place of a batch is None."""
    return tf.nest.map_structure(lambda leaf: None if isinstance(leaf, tf.experimental.Optional) else leaf, data)
