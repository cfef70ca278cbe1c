"""The few names of torchvision that timm imports; no model of timm calls them in a training step.

torchvision has no build for the torch that we use.
"""

from __future__ import annotations

import contextlib
import enum
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


class InterpolationMode(enum.Enum):
    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((num_features,), value))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.view(1, -1, 1, 1) + shift.view(1, -1, 1, 1)


class _Stub(types.ModuleType):
    """A module in which every public name is a class, so that it can be imported and inherited from."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {})
        setattr(self, name, made)
        return made


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Around the first import of timm only: other libraries ask whether there is a torchvision, and then use it."""
    if importlib.machinery.PathFinder.find_spec("torchvision"):
        yield
        return
    names = [f"torchvision{name}" for name in ("", ".datasets", ".ops", ".ops.misc", ".transforms", ".transforms.functional")]
    for name in names:
        sys.modules[name] = stub = _Stub(name)
        stub.__path__ = []
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, stub)
    sys.modules["torchvision.transforms.functional"].InterpolationMode = InterpolationMode
    sys.modules["torchvision.transforms"].InterpolationMode = InterpolationMode
    sys.modules["torchvision.ops.misc"].FrozenBatchNorm2d = FrozenBatchNorm2d
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
