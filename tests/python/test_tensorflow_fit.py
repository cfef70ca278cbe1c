"""`model.fit` within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import checkmate
import checkmate.tensorflow as planned
from keras_models import convolutional, images, labels, layers, numbers


class Counted(keras.Model):
    """A train_step of its own, and a variable that it counts in."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = [layers.Dense(64, activation="gelu") for _ in range(4)]
        self.last = layers.Dense(1)
        self.batches = self.add_weight(shape=(), initializer="zeros", trainable=False, name="batches")

    def call(self, x: Any) -> Any:
        for layer in self.hidden:
            x = layer(x)
        return self.last(x)

    def train_step(self, data: Any) -> Any:
        self.batches.assign_add(1.0)
        return super().train_step(data)


def trained(budget: str | None, cache: Path, **compiled: Any) -> tuple[list[Any], Any, list[Any], Any]:
    keras.utils.set_random_seed(0)
    model, _, _ = convolutional()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"], **compiled)
    training = planned.fit(model, budget, cache=cache, time_limit=2) if budget else None
    seen: list[Any] = []
    watch = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append((batch, dict(logs))))
    x, y = images(23, 16).numpy(), labels(23, 5).numpy()
    history = model.fit(
        x,
        y,
        batch_size=6,  # the last of an epoch has 5
        epochs=3,
        verbose=0,
        validation_data=(x[:7], y[:7]),
        class_weight={label: 1 + label / 10 for label in range(5)},
        callbacks=[watch],
    )
    return [v.numpy() for v in [*model.variables, *model.optimizer.variables]], history.history, seen, training


@pytest.mark.parametrize("steps_per_execution", [1, 3])
def test_fit_trains_to_the_same_bits(steps_per_execution: int, cache: Path) -> None:
    keras_values, keras_history, keras_logs, _ = trained(None, cache, steps_per_execution=steps_per_execution)
    values, history, logs, training = trained("60%", cache, steps_per_execution=steps_per_execution)
    assert all(np.array_equal(a, b) for a, b in zip(values, keras_values, strict=True))
    assert history == keras_history
    assert logs == keras_logs
    assert len(logs) == 3 * -(-4 // steps_per_execution)
    assert training.plan.peak <= training.plan.budget


def test_a_train_step_of_ones_own_is_planned(cache: Path) -> None:
    results = []
    for budget in (None, "80%"):
        keras.utils.set_random_seed(0)
        model = Counted()
        model.compile(optimizer="sgd", loss="mse")
        if budget:
            planned.fit(model, budget, cache=cache, time_limit=1)
        model.fit(numbers(256, 32).numpy(), numbers(256, 1).numpy(), batch_size=128, epochs=2, verbose=0)
        results.append([v.numpy() for v in model.variables])
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    assert model.batches.numpy() == 4


@pytest.mark.parametrize("option", ["jit_compile", "run_eagerly"])
def test_what_is_not_a_graph_is_refused(option: str, cache: Path) -> None:
    model, _, (x, y) = convolutional()
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", **{option: True})
    planned.fit(model, "60%", cache=cache)
    with pytest.raises(checkmate.Error, match=f"{option}=False"):
        model.fit(x, y, verbose=0)


def test_a_model_that_has_trained_already_takes_another_budget(cache: Path) -> None:
    model, _, _ = convolutional()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = images(12, 16).numpy(), labels(12, 5).numpy()
    model.fit(x, y, batch_size=12, verbose=0)
    for budget in ("90%", "60%"):
        training = planned.fit(model, budget, cache=cache, time_limit=2)
        model.fit(x, y, batch_size=12, verbose=0)
        assert training.plan.budget == training.graph.parse_budget(budget)
