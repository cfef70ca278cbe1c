"""The versions that this was tested with: nearly all that it uses of TensorFlow is private."""

from __future__ import annotations

from importlib.metadata import version

import tensorflow as tf

from checkmate import Error

TENSORFLOW, KERAS = "2.21", "3"


def check_versions() -> None:
    """Refuses others by name, and Keras on another backend."""
    if ".".join(tf.__version__.split(".")[:2]) != TENSORFLOW:
        raise Error(
            f"checkmate.tensorflow works with TensorFlow {TENSORFLOW}, and this is {tf.__version__}: "
            f"pip install tensorflow-cpu=={TENSORFLOW}.0",
            "no_tensorflow",
        )
    keras = version("keras")
    if keras.split(".")[0] != KERAS:
        raise Error(
            f"checkmate.tensorflow works with Keras {KERAS}, and this is {keras}: pip install keras==3.15.1", "no_tensorflow"
        )
    if tf.keras.backend.backend() != "tensorflow":
        raise Error(
            f"Keras runs on {tf.keras.backend.backend()}: set KERAS_BACKEND=tensorflow before Keras is imported", "no_tensorflow"
        )
