"""Keras models within a budget: the same bits as plain Keras, the peaks, the time.

    OMP_NUM_THREADS=1 PYTHONPATH=build/python .venv/bin/python benchmarks/keras_models.py [MODEL...]

For each model and budget: whether state, losses and gradients are bitwise equal after five steps; the peak without recomputation,
the budget, the peak that was predicted and the one that was measured; the overhead that was predicted and the slow-down.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import checkmate
import checkmate.tensorflow as planned  # first: TensorFlow's allocator tells of each block from then on
from checkmate.tensorflow.planning_graph import held_bytes
from checkmate.tensorflow.profiling import profile

layers = keras.layers
STEPS = 5
MIB = 2**20


def images(count: int, size: int) -> Any:
    return tf.constant(np.random.default_rng(1).random((count, size, size, 3), dtype="float32"))


def integers(shape: tuple[int, ...], below: int) -> Any:
    return tf.constant(np.random.default_rng(2).integers(0, below, shape).astype("int32"))


def classified(model: Any, x: Any, label: Any) -> Any:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(label, model(x, training=True))


def application(kind: Callable[..., Any], batch: int, size: int) -> Callable[[], Any]:
    def make() -> Any:
        model = kind(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)
        return model, classified, (images(batch, size), integers((batch,), 10))

    return make


def unet() -> Any:
    x = inputs = keras.Input((64, 64, 3))
    kept = []
    for channels in (16, 32, 64):
        for _ in range(2):
            x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(channels, 3, padding="same")(x)))
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    for channels in (64, 32, 16):
        x = layers.Concatenate()([layers.UpSampling2D()(x), kept.pop()])
        for _ in range(2):
            x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(channels, 3, padding="same")(x)))
    return keras.Model(inputs, layers.Conv2D(4, 1)(x)), classified, (images(8, 64), integers((8, 64, 64), 4))


def transformer() -> Any:
    inputs = keras.Input((64,), dtype="int32")
    x = layers.Embedding(500, 128)(inputs)
    for _ in range(4):
        h = layers.LayerNormalization()(x)
        x = x + layers.Dropout(0.1)(layers.MultiHeadAttention(4, 32, dropout=0.1)(h, h))
        h = layers.Dense(512, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dropout(0.1)(layers.Dense(128)(h))
    return keras.Model(inputs, layers.Dense(500)(x)), classified, (integers((16, 64), 500), integers((16, 64), 500))


def text() -> Any:
    inputs = keras.Input((40,), dtype="int32")
    x = layers.LSTM(96)(layers.LSTM(96, return_sequences=True)(layers.Embedding(1000, 96)(inputs)))
    return keras.Model(inputs, layers.Dense(2)(x)), classified, (integers((64, 40), 1000), integers((64,), 2))


def autoencoder() -> Any:
    x = inputs = keras.Input((64, 64, 3))
    for channels in (32, 32, 16):
        x = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(x)
    for channels in (16, 32, 32):
        x = layers.Conv2DTranspose(channels, 3, strides=2, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x))
    return model, lambda model, x: tf.reduce_mean(tf.square(model(x, training=True) - x)), (images(32, 64),)


def two_outputs() -> Any:
    inputs = keras.Input((128,))
    x = inputs
    for _ in range(6):
        x = layers.Dropout(0.1)(layers.Dense(256, activation="gelu")(x))
    model = keras.Model(inputs, [layers.Dense(10)(x), layers.Dense(1)(x)])

    def loss(model: Any, x: Any, label: Any, target: Any) -> Any:
        logits, value = model(x, training=True)
        entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(label, logits)
        return entropy + tf.reduce_mean(tf.square(value - target))

    numbers = tf.constant(np.random.default_rng(3).random((1024, 129), dtype="float32"))
    return model, loss, (numbers[:, :128], integers((1024,), 10), numbers[:, 128:])


def mixed() -> Any:
    policy = keras.DTypePolicy("mixed_bfloat16")
    x = inputs = keras.Input((128,))
    for _ in range(6):
        x = layers.Dense(512, activation="relu", dtype=policy)(x)
    numbers = tf.constant(np.random.default_rng(3).random((512, 128), dtype="float32"))
    return keras.Model(inputs, layers.Dense(10, dtype="float32")(x)), classified, (numbers, integers((512,), 10))


class OwnStep(keras.Model):
    """A train_step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = [layers.Dense(256, activation="gelu") for _ in range(8)]
        self.last = layers.Dense(10)
        self.batches = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x: Any) -> Any:
        for layer in self.hidden:
            x = layer(x)
        return self.last(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x))
        self.batches.assign_add(1.0)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


def own_step() -> Any:
    model = OwnStep()
    model.compile(optimizer=keras.optimizers.Adam(), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    numbers = tf.constant(np.random.default_rng(3).random((1024, 128), dtype="float32"))
    model(numbers)
    model.optimizer.build(model.trainable_variables)
    return model, None, (numbers, integers((1024,), 10))


MODELS: dict[str, Callable[[], Any]] = {
    "vgg16": application(keras.applications.VGG16, 8, 32),
    "resnet50": application(keras.applications.ResNet50, 8, 64),
    "mobilenet": application(keras.applications.MobileNet, 16, 64),
    "unet": unet,
    "efficientnetb0": application(keras.applications.EfficientNetB0, 8, 64),
    "convnext_tiny": application(keras.applications.ConvNeXtTiny, 8, 32),
    "transformer": transformer,
    "lstm": text,
    "autoencoder": autoencoder,
    "two_outputs": two_outputs,
    "own_train_step": own_step,
    "mixed_bfloat16": mixed,
}


def variables(model: Any) -> list[Any]:
    return [*model.variables, *(model.optimizer.variables if getattr(model, "optimizer", None) else [])]


def same(first: Any, second: Any) -> bool:
    leaves = [[leaf for leaf in tf.nest.flatten(each, expand_composites=True) if leaf is not None] for each in (first, second)]
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*leaves, strict=True))


def planned_step(model: Any, loss: Any, batch: Any, budget: str | int | None, options: dict[str, Any]) -> Any:
    if loss is not None:
        return planned.compile(model, loss, batch, budget, **options)
    training = planned.fit(model, budget, **options)
    training.prepare(batch)
    return training


def rows(name: str, options: dict[str, Any], repeats: int) -> Iterator[str]:
    keras.utils.set_random_seed(0)
    model, loss, batch = MODELS[name]()
    begin = time.perf_counter()
    keep_all = planned_step(model, loss, batch, None, options)
    prepared = time.perf_counter() - begin
    before = [v.numpy() for v in variables(model)]
    graph = keep_all.graph
    try:
        planned_step(model, loss, batch, graph.fixed_bytes + 1, options)
        raise AssertionError("one byte is no budget")
    except checkmate.InfeasibleError as error:
        least = error.sufficient or error.needed
    plain = tf.function(keep_all.plain_function(tf.nest.map_structure(lambda _: True, batch)), autograph=False)
    tensors = tf.nest.flatten(batch)

    def five(run: Callable[[], Any]) -> tuple[Any, Any]:
        for variable, value in zip(variables(model), before, strict=True):
            variable.assign(value)
        return [run() for _ in range(STEPS)], [v.numpy() for v in variables(model)]

    expected = five(lambda: plain(*tensors))
    plain_peak = profile(lambda: plain(*tensors)).peak + held_bytes(graph)
    yield f"{name:16} plain      peak {plain_peak / MIB:8.2f} MiB, {len(graph)} ops, prepared in {prepared:.0f} s"
    for share, budget in (("70%", "70%"), ("50%", "50%"), ("least", least)):
        try:
            step = planned_step(model, loss, batch, budget, options)
        except checkmate.Error as error:
            yield f"{name:16} {share:8} {type(error).__name__}: {error!s:.150}"
            continue
        compiled = step.prepare(batch)
        equal = same(five(lambda compiled=compiled: compiled(*tensors)), expected)
        measured = profile(lambda compiled=compiled: compiled(*tensors)).peak + held_bytes(step.graph)
        seconds = [float("inf")] * 3
        chained = compiled.with_plan(checkmate.Plan.keep_all(step.graph))
        for _ in range(repeats):
            for index, run in enumerate((plain, chained, compiled)):
                begin = time.perf_counter()
                run(*tensors)
                seconds[index] = min(seconds[index], time.perf_counter() - begin)
        yield (
            f"{name:16} {share:8} {'equal' if equal else 'DIFFERENT'}, within {measured <= step.plan.budget}, budget "
            f"{step.plan.budget / MIB:8.2f}, measured {measured / MIB:8.2f}, predicted {compiled.predicted_peak / MIB:8.2f} "
            f"({compiled.predicted_peak / measured:.4f}x; plan {step.plan.peak / measured:.4f}x), overhead "
            f"{step.plan.overhead:.3f}, slow-down {seconds[2] / seconds[0]:.3f}, of ordering alone {seconds[1] / seconds[0]:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--time-limit", type=float, default=5, help="seconds for each search")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each")
    parser.add_argument("--inter-op-threads", type=int, default=0, help="0: TensorFlow's default")
    arguments = parser.parse_args()
    if arguments.inter_op_threads:
        tf.config.threading.set_inter_op_parallelism_threads(arguments.inter_op_threads)
    options = {"time_limit": arguments.time_limit, "progress": False}
    for name in arguments.models:
        try:
            for row in rows(name, options, arguments.repeats):
                print(row, flush=True)
        except Exception:
            print(f"{name:16} failed", flush=True)
            traceback.print_exc()
        keras.backend.clear_session()


if __name__ == "__main__":
    main()
