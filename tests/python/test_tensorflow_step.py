"""Planned steps of Keras models: numbers, peaks, words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import checkmate
import checkmate.tensorflow as planned
from checkmate.tensorflow.planning_graph import held_bytes
from checkmate.tensorflow.profiling import VARIABLE, profile
from checkmate.tensorflow.versions import check_versions
from keras_models import MODELS, Case, convolutional, images, labels, layers, numbers, transformer, two_outputs

Options = dict[str, Any]


@pytest.fixture(autouse=True)
def _seeded() -> None:
    keras.utils.set_random_seed(0)


def values(*owners: Any) -> list[Any]:
    return [variable.numpy() for owner in owners for variable in owner.variables]


def equal(first: Any, second: Any) -> bool:
    leaves = [tf.nest.flatten(each, expand_composites=True) for each in (first, second)]
    return all(np.array_equal(a, b) for a, b in zip(*leaves, strict=True) if a is not None or b is not None)


def assign(before: list[Any], *owners: Any) -> None:
    for variable, value in zip((v for owner in owners for v in owner.variables), before, strict=True):
        variable.assign(value)


def least_share(model: Any, loss: Any, batch: Any, options: Options) -> int:
    """The least budget, for which the search is asked for nothing."""
    with pytest.raises(checkmate.InfeasibleError) as error:
        planned.compile(model, loss, batch, 1, **options)
    sufficient = error.value.sufficient
    assert sufficient is not None
    return sufficient


@pytest.mark.parametrize("case", MODELS, ids=lambda case: case.__name__)
def test_a_planned_step_is_bitwise_the_plain_one_within_its_budget(case: Callable[[], Case], cache: Path) -> None:
    model, loss, batch = case()
    options: Options = {"cache": cache, "time_limit": 2}
    least = least_share(model, loss, batch, options)
    graph = planned.compile(model, loss, batch, **options).graph
    plain_peak = checkmate.Plan.keep_all(graph).peak
    budget = max(least, (plain_peak + least) // 2)
    before = values(model)
    step = planned.compile(model, loss, batch, budget, **options)
    assert equal(values(model), before), "compiling restores what it ran"
    plain = tf.function(step.plain_function(tf.nest.map_structure(lambda _: True, batch)), autograph=False)
    tensors = tf.nest.flatten(batch)
    ours = [step(*batch) for _ in range(3)], values(model)
    assign(before, model)
    theirs = [plain(*tensors) for _ in range(3)], values(model)
    assert equal(ours, theirs)
    measured = profile(lambda: step(*batch)).peak + held_bytes(step.graph)
    assert measured <= step.latest.predicted_peak <= step.plan.peak <= budget
    assert budget <= plain_peak, "equal where one loop is all that takes memory"


def test_gradients_of_biases_are_the_same_where_inputs_are_computed_again(cache: Path) -> None:
    inputs = keras.Input((16, 16, 3))
    x = inputs
    for _ in range(4):
        x = keras.layers.Dropout(0.1)(keras.layers.ReLU()(keras.layers.BatchNormalization()(keras.layers.Conv2D(8, 3)(x))))
    model = keras.Model(inputs, keras.layers.Dense(4)(keras.layers.Flatten()(x)))
    entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    batch = images(32, 16), labels(32, 4)
    step = planned.compile(model, lambda m, x, y: entropy(y, m(x, training=True)), batch, "70%", cache=cache, time_limit=2)
    again = {name for unit, _, _ in step.plan.recomputed for name in step.graph.ops[unit].name.split(" + ")}
    assert any("Relu" in name or "dropout" in name for name in again), "inputs of convolutions"
    seen = planned.verify(step, batch, repeats=1)
    assert seen.from_keep_all.none
    assert seen.from_eager.none


def test_verify_compares_with_keras_and_restores_everything(cache: Path) -> None:
    model, loss, batch = convolutional()
    optimizer = keras.optimizers.Adam(1e-3)
    step = planned.compile(model, loss, batch, "60%", cache=cache, time_limit=2, optimizer=optimizer)
    before = values(model, optimizer)
    seen = planned.verify(step, batch, repeats=1)
    assert equal(values(model, optimizer), before)
    assert seen.holds
    assert seen.from_eager.none
    assert seen.measured_peak <= seen.predicted_peak <= seen.budget < seen.keep_all_peak
    assert "bitwise equal" in str(seen)
    assert step.plan.overhead > 1


def test_an_optimizer_inside_trains_as_outside(cache: Path) -> None:
    model, loss, batch = transformer()
    optimizer = keras.optimizers.Adam(1e-2)
    step = planned.compile(model, loss, batch, "80%", cache=cache, time_limit=2, optimizer=optimizer)
    before = values(model, optimizer)
    plain = tf.function(step.plain_function((True, True)), autograph=False)
    ours = [step(*batch) for _ in range(5)], values(model, optimizer)
    assign(before, model, optimizer)
    assert equal(ours, ([plain(*batch) for _ in range(5)], values(model, optimizer)))


def test_frozen_layers_have_no_gradient_and_several_results_come_back(cache: Path) -> None:
    model, loss, batch = two_outputs()
    step = planned.compile(model, loss, batch, cache=cache)
    (value, logits), gradients = step(*batch)
    assert value.shape == ()
    assert logits.shape == (32, 5)
    assert len(gradients) == len(model.trainable_variables) < len(model.variables)


def test_another_shape_gets_a_plan_of_its_own_within_the_same_bytes(cache: Path) -> None:
    model, loss, batch = convolutional()
    step = planned.compile(model, loss, batch, "60%", cache=cache, time_limit=2)
    budget = step.plan.budget
    step(images(7, 16), labels(7, 5))
    assert step.plan.budget == budget
    assert step.plan.overhead == 1, "a smaller batch needs no recomputation"
    step(*batch)
    assert step.plan.overhead > 1


def test_plans_are_saved_and_taken_again(cache: Path, tmp_path: Path) -> None:
    model, loss, batch = convolutional()
    step = planned.compile(model, loss, batch, "60%", cache=cache, time_limit=2)
    step.plan.save(tmp_path / "plan.json")
    step.report(tmp_path / "report.html")
    again = planned.compile(model, loss, batch, "60%", cache=cache, plan=tmp_path / "plan.json")
    assert again.plan.steps == step.plan.steps
    assert again.plan.method == "given"
    assert "<html" in (tmp_path / "report.html").read_text()[:200].lower()


def test_a_budget_that_is_too_small_says_what_is_needed(cache: Path) -> None:
    model, loss, batch = convolutional()
    with pytest.raises(checkmate.InfeasibleError, match=r"are parameters, buffers and the batch") as error:
        planned.compile(model, loss, batch, 1000, cache=cache)
    assert error.value.needed > 1000


def test_estimated_costs_need_no_run(tmp_path: Path) -> None:
    model, loss, batch = convolutional()
    step = planned.compile(model, loss, batch, "70%", costs="flops", cache=tmp_path, time_limit=2)
    assert step.graph.cost_unit == "flop"
    convolutions = [op.cost for op in step.graph.ops if "Conv2D" in op.kind]
    assert max(convolutions) >= 2 * 24 * 16 * 16 * 3 * 3 * 8 * 8  # of the second layer: batch, pixels, kernel, channels
    assert step.plan.peak <= step.plan.budget


def selecting(model: Any, x: Any, y: Any) -> Any:
    picked = tf.boolean_mask(model(x, training=True), y > 0)
    return tf.reduce_sum(tf.square(tf.repeat(picked, 300, axis=0)))


def compiled_by_xla(model: Any, x: Any, y: Any) -> Any:
    return tf.function(lambda t: tf.reduce_sum(tf.square(model(t) - y)), jit_compile=True)(x)


def misspelt(model: Any, x: Any, y: Any) -> Any:
    return tf.reduce_mea(model(x) - y)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (selecting, "depends on values.*use a mask"),
        (compiled_by_xla, "XLA, which undoes a plan.*jit_compile=True"),
        (misspelt, "cannot be captured.*AttributeError"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_remedy(loss: Any, words: str, cache: Path) -> None:
    inputs = keras.Input((16,))
    model = keras.Model(inputs, layers.Dense(16)(inputs))
    with pytest.raises(planned.CaptureError, match=words):
        planned.compile(model, loss, (numbers(64, 16), numbers(64, 16)), "70%", cache=cache)


def test_ragged_batches_are_refused(cache: Path) -> None:
    model, loss, _ = convolutional()
    with pytest.raises(checkmate.Error, match=r"RaggedTensor.*make it dense"):
        planned.compile(model, loss, (tf.ragged.constant([[1.0], [2.0, 3.0]]), labels(2, 5)), cache=cache)


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_versions()
    monkeypatch.setattr(tf, "__version__", "2.16.1")
    with pytest.raises(checkmate.Error, match=r"works with TensorFlow 2.21, and this is 2.16.1: pip install"):
        check_versions()


def test_an_allocator_that_does_not_tell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(checkmate.Error, match=r"import checkmate.tensorflow first"):
        profile(lambda: None)
