"""Trains networks that do not fit in memory: the cheapest plan of runs, recomputations and frees within a budget.

>>> import checkmate
>>> graph = checkmate.load("zoo:vgg16?batch=64")
>>> plan = checkmate.solve(graph, "90%", time_limit=10)
>>> print(plan)

`compile` and `verify`, which run a PyTorch model that way, are in `checkmate.torch`; nothing else needs PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from . import _core
from .catalogue import Method, Network, methods, zoo
from .errors import Error, InfeasibleError, MatplotlibMissingError, NoPlanError, TorchMissingError
from .graph import Graph, Op, Tensor, load
from .layout import Block, Layout, blocks_of, lay_out
from .plan import Plan, load_plan
from .progress import Progress
from .search import MaxBatch, SweepPoint, max_batch, solve, sweep

__version__ = _core.version
__all__ = [
    "Block",
    "Error",
    "Graph",
    "InfeasibleError",
    "Layout",
    "MatplotlibMissingError",
    "MaxBatch",
    "Method",
    "Network",
    "NoPlanError",
    "Op",
    "Plan",
    "Progress",
    "SweepPoint",
    "Tensor",
    "TorchMissingError",
    "blocks_of",
    "lay_out",
    "load",
    "load_plan",
    "max_batch",
    "methods",
    "solve",
    "sweep",
    "zoo",
]
_OF_TORCH = ("compile", "torch", "verify")


def __getattr__(name: str) -> Any:
    # PyTorch takes a second to import: not before somebody asks for it.
    if name not in _OF_TORCH:
        raise AttributeError(f"module 'checkmate' has no attribute {name!r}")
    if find_spec("torch") is None:
        raise TorchMissingError
    module = import_module("checkmate.torch")
    return module if name == "torch" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__", *(_OF_TORCH if find_spec("torch") else ())]
