"""The catalogue of `torch_models.py`: one file per library, each with a table `MODELS`.

Models have random weights and are small, but their activations are larger than their parameters, so that a budget matters.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

LIBRARIES = ("transformers", "timm", "diffusers", "own")


class Training(NamedTuple):
    model: nn.Module
    loss_fn: Callable[..., Any]
    batch: Callable[[], tuple[Any, ...]]
    """A new random batch, of the same shapes each time."""


class Entry(NamedTuple):
    architecture: str
    build: Callable[[], Training]


def catalogue() -> dict[str, Entry]:
    """All models by name, `library/model`. Importing the libraries takes seconds."""
    return {f"{library}/{name}": entry for library in LIBRARIES for name, entry in models_of(library).items()}


def models_of(library: str) -> dict[str, Entry]:
    models: dict[str, Entry] = importlib.import_module(f"models.{library}_models").MODELS
    return models
