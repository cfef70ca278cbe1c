"""Trains networks that do not fit in memory: the cheapest plan of runs, recomputations and frees within a budget.

>>> import checkmate
>>> graph = checkmate.load("zoo:vgg16?batch=64")
>>> plan = checkmate.solve(graph, "90%", time_limit=10)
>>> print(plan)

`compile`, `wrap`, `capture`, `estimate` and `verify`, which are for PyTorch models, are in `checkmate.torch`; nothing else needs
PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from . import _core
from .catalogue import Method, Network, methods, zoo
from .errors import Error, InfeasibleError, MatplotlibMissingError, NoPlanError, PandasMissingError, TorchMissingError
from .graph import Graph, Op, Tensor, load
from .layout import Block, Layout, blocks_of, lay_out
from .networkx_graphs import from_networkx
from .plan import Plan, load_plan
from .progress import Progress
from .search import LeastBudget, MaxBatch, least_budget, max_batch, solve, sweep
from .tradeoff import Sweep, SweepPoint

__version__ = _core.version
__all__ = [
    "Block",
    "Error",
    "Graph",
    "InfeasibleError",
    "Layout",
    "LeastBudget",
    "MatplotlibMissingError",
    "MaxBatch",
    "Method",
    "Network",
    "NoPlanError",
    "Op",
    "PandasMissingError",
    "Plan",
    "Progress",
    "Sweep",
    "SweepPoint",
    "Tensor",
    "TorchMissingError",
    "blocks_of",
    "from_networkx",
    "lay_out",
    "least_budget",
    "load",
    "load_plan",
    "max_batch",
    "methods",
    "solve",
    "sweep",
    "zoo",
]
_OF_TORCH = ("capture", "compile", "estimate", "options", "torch", "verify", "wrap")


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
