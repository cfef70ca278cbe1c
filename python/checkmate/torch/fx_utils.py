"""Typed access to the nodes of a traced graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload


@dataclass(frozen=True)
class Origin:
    """Where a node comes from."""

    phase: str = "backward"  # forward, backward or update
    module: str = ""  # whose forward pass ran the op; empty in the backward pass


# torch copies this part of a node's metadata when a graph is traced again.
_COPIED, _ORIGIN = "custom", "checkmate_origin"


def origin(node: fx.Node) -> Origin:
    """As set_origin() left it; of the backward pass by default."""
    return cast(Origin, node.meta.get(_COPIED, {}).get(_ORIGIN, Origin()))


def set_origin(node: fx.Node, where: Origin) -> None:
    """Remembers it, through later traces of the graph too."""
    node.meta[_COPIED] = {_ORIGIN: where}


def is_getitem(node: fx.Node) -> bool:
    """Whether it takes one of several results of another node."""
    return node.op == "call_function" and node.target is operator.getitem


def getitem(node: fx.Node) -> tuple[fx.Node, int]:
    """Of such a node, the other one and which result."""
    source, position = node.args
    return cast(fx.Node, source), cast(int, position)


def overload(node: fx.Node) -> OpOverload[Any, Any] | None:
    """The aten op, or other op of a library, that it calls."""
    return node.target if isinstance(node.target, OpOverload) else None


def value(node: fx.Node) -> Any:
    """A fake tensor, or a tuple or list of such, with gaps."""
    return node.meta["val"]


def tensors_of(found: Any) -> list[torch.Tensor]:
    """The tensors of a node's value."""
    found = found if isinstance(found, (tuple, list)) else [found]
    return [each for each in found if isinstance(each, torch.Tensor)]


def storage_address(tensor: torch.Tensor) -> int:
    """Equal for two tensors that share memory, for as long as both live."""
    return int(tensor.untyped_storage()._cdata)


def nodes_in(arguments: Any) -> list[fx.Node]:
    """Those in any nesting of lists, tuples and dicts."""
    found: list[fx.Node] = []

    def note(node: fx.Node) -> fx.Node:
        found.append(node)
        return node

    fx.map_arg(arguments, note)
    return found


def call(target: Any, args: Any, kwargs: Any, look_up: Callable[[fx.Node], Any]) -> Any:
    """The target applied to the arguments, with values in the place of nodes."""
    values = fx.map_arg([list(args), dict(kwargs)], look_up)
    positional, named = cast(tuple[list[Any], dict[str, Any]], values)
    return target(*positional, **named)
