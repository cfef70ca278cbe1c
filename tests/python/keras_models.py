"""Small Keras models for tests, each with a loss and a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers = keras.layers
Case = tuple[Any, Callable[..., Any], tuple[Any, ...]]


def convolutional() -> Case:
    """Batch norm writes statistics, dropout draws from a seed."""
    x = inputs = keras.Input((16, 16, 3))
    for channels in (8, 8, 8):
        x = layers.Conv2D(channels, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Dropout(0.2)(layers.ReLU()(x))
    model = keras.Model(inputs, layers.Dense(5)(layers.GlobalAveragePooling2D()(x)))
    return model, classified, (images(24, 16), labels(24, 5))


def autoencoder() -> Case:
    """Convolutions with biases: TensorFlow makes one kernel of the gradients of a bias and of its convolution's kernel."""
    x = inputs = keras.Input((16, 16, 3))
    for channels in (16, 8):
        x = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(x)
    for channels in (8, 16):
        x = layers.Conv2DTranspose(channels, 3, strides=2, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2D(3, 3, padding="same")(x))
    return model, lambda model, x: tf.reduce_mean(tf.square(model(x, training=True) - x)), (images(16, 16),)


def transformer() -> Case:
    """Attention; the gradient of the embedding is of slices."""
    inputs = keras.Input((16,), dtype="int32")
    x = layers.Embedding(50, 32)(inputs)
    h = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(2, 16, dropout=0.1)(h, h)
    x = x + layers.Dense(32)(layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x)))
    return keras.Model(inputs, layers.Dense(50)(x)), classified, (tokens((8, 16), 50), tokens((8, 16), 50))


def recurrent() -> Case:
    """Loops: `While`, and lists of tensors between its passes."""
    inputs = keras.Input((12,), dtype="int32")
    x = layers.LSTM(16)(layers.Embedding(50, 16)(inputs))
    return keras.Model(inputs, layers.Dense(5)(x)), classified, (tokens((16, 12), 50), labels(16, 5))


def two_outputs() -> Case:
    """Two inputs, two outputs, and a frozen layer."""
    first, second = keras.Input((64,)), keras.Input((32,))
    frozen = layers.Dense(64, activation="tanh")
    frozen.trainable = False
    x = layers.Concatenate()([frozen(first), layers.Dense(64, activation="relu")(second)])
    for _ in range(3):
        x = layers.Dense(128, activation="tanh")(x)
    model = keras.Model([first, second], [layers.Dense(1)(x), layers.Dense(5)(x)])

    def loss(model: Any, batch: Any, target: Any, label: Any) -> Any:
        value, logits = model([batch[0], batch[1]], training=True)
        return tf.reduce_mean(tf.square(value - target)) + classification(label, logits), logits

    return model, loss, ((numbers(32, 64), numbers(32, 32)), numbers(32, 1), labels(32, 5))


def half_precision() -> Case:
    """Computes in bfloat16 over float32 variables."""
    policy = keras.DTypePolicy("mixed_bfloat16")
    x = inputs = keras.Input((64,))
    for _ in range(3):
        x = layers.Dense(128, activation="relu", dtype=policy)(x)
    return keras.Model(inputs, layers.Dense(5, dtype="float32")(x)), classified, (numbers(32, 64), labels(32, 5))


def classification(label: Any, logits: Any) -> Any:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(label, logits)


def classified(model: Any, x: Any, label: Any) -> Any:
    return classification(label, model(x, training=True))


def images(count: int, size: int) -> Any:
    return tf.constant(np.random.default_rng(1).random((count, size, size, 3), dtype="float32"))


def numbers(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(2).random(shape, dtype="float32"))


def tokens(shape: tuple[int, ...], vocabulary: int) -> Any:
    return tf.constant(np.random.default_rng(3).integers(0, vocabulary, shape).astype("int32"))


def labels(count: int, classes: int) -> Any:
    return tokens((count,), classes)


MODELS = [convolutional, autoencoder, transformer, recurrent, two_outputs, half_precision]
