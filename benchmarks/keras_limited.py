"""A process limit under which plain Keras dies, and a planned `fit` trains.

    OMP_NUM_THREADS=1 PYTHONPATH=build/python .venv/bin/python benchmarks/keras_limited.py [--limit GIB] [--budget SHARE]

Each runs in a process of its own, limited by RLIMIT_AS. The plan is made before, without a limit, and comes from the cache.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

import checkmate.tensorflow as planned

layers = keras.layers
GIB = 2**30


def model() -> keras.Model:
    keras.utils.set_random_seed(0)
    x = inputs = keras.Input((64, 64, 3))
    for _ in range(10):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(32, 3, padding="same", use_bias=False)(x)))
    made = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
    made.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return made


def train(budget: str | None, cache: str, limit: float, steps: int) -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit * GIB), int(limit * GIB)))
    made = model()
    training = planned.fit(made, budget, cache=Path(cache), time_limit=10) if budget else None
    numbers = np.random.default_rng(0)
    x, y = numbers.random((64 * steps, 64, 64, 3), dtype="float32"), numbers.integers(0, 10, 64 * steps)
    history = made.fit(x, y, batch_size=64, epochs=1, verbose=0, shuffle=False)
    print(f"trained {steps} steps, loss {history.history['loss'][-1]:.9f}")
    if training is not None:
        print(training.plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=3.0, help="GiB of address space")
    parser.add_argument("--budget", default="45%")
    parser.add_argument("--child", nargs=3, metavar=("BUDGET", "CACHE", "LIMIT"))
    arguments = parser.parse_args()
    if arguments.child:
        budget, cache, limit = arguments.child
        train(budget or None, cache, float(limit), 2)
        return
    with tempfile.TemporaryDirectory() as cache:
        for name, budget, limit in (
            ("plain, without a limit", "", 0.0),
            ("planned, without a limit", arguments.budget, 0.0),
            ("plain", "", arguments.limit),
            ("planned", arguments.budget, arguments.limit),
        ):
            command = [sys.executable, __file__, "--child", budget, cache, str(limit)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            last = [line for line in (run.stdout if run.returncode == 0 else run.stderr).splitlines() if line.strip()]
            print(f"{name}: exit {run.returncode}: {last[0] if run.returncode == 0 else last[-1]:.150}", flush=True)


if __name__ == "__main__":
    main()
