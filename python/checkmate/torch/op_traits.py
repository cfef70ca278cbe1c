"""What an op does in addition to computing its results."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from checkmate.torch.fx_utils import overload

_EFFECT_NAMESPACES = {"c10d", "_c10d_functional", "c10d_functional"}


def is_random(node: fx.Node) -> bool:
    """Whether it draws random numbers."""
    op = overload(node)
    if op is None or torch.Tag.nondeterministic_seeded not in op.tags:
        return False
    # Attention carries the tag for the sake of its dropout.
    return bool(_argument(node, "dropout_p", default=None) != 0.0)


def _argument(node: fx.Node, name: str, default: Any) -> Any:
    op = overload(node)
    for position, argument in enumerate(op._schema.arguments if op else []):
        if argument.name == name:
            given = node.args[position] if position < len(node.args) else node.kwargs.get(name)
            return argument.default_value if given is None else given
    return default


def has_effect(node: fx.Node) -> bool:
    """Whether it writes into an argument, or talks to other processes."""
    op = overload(node)
    if op is None:
        return bool(getattr(node.target, "effect", True))
    return op.namespace in _EFFECT_NAMESPACES or op._schema.is_mutable
