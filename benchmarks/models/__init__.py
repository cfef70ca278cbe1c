"""The catalogue of `torch_models.py`: one file per library, each with a table `MODELS`.

Models have random weights and are small, but their activations are larger than their parameters, so that a budget matters.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

# Where the table of each is.
LIBRARIES = {"transformers": "transformers_models", "timm": "timm_models", "diffusers": "diffusers_models", "own": "own_steps"}


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
    tables = {library: importlib.import_module(f"models.{module}").MODELS for library, module in LIBRARIES.items()}
    return {f"{library}/{name}": entry for library, table in tables.items() for name, entry in table.items()}
