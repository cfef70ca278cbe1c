"""What a program is made from: a functional graph of aten ops with static shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import fx


@dataclass(frozen=True, kw_only=True)
class Captured:
    """No op of the graph writes into an input or into another op's result."""

    graph: fx.Graph
    inputs: list[fx.Node]
    gradients: dict[str, Any]  # by name: a node; if sparse, [indices, values]
    device: torch.device
    held: Mapping[str, int] = field(default_factory=dict)  # bytes in addition to the inputs, throughout, by what they are
    pause_bytes: int = 0  # what others take while it pauses

    @property
    def outputs(self) -> list[fx.Node]:
        """What is handed out."""
        raise NotImplementedError

    def over(self, graph: fx.Graph, inputs: list[fx.Node], new: Mapping[fx.Node, fx.Node]) -> Self:
        """The same over another graph, in which `new` are the outputs."""
        return dataclasses.replace(
            self, graph=graph, inputs=inputs, gradients={name: renewed(each, new) for name, each in self.gradients.items()}
        )


def renewed(found: Any, new: Mapping[fx.Node, fx.Node]) -> Any:
    """With other nodes in the place of those in it."""
    if isinstance(found, (list, tuple)):
        return [renewed(each, new) for each in found]
    return new[found] if isinstance(found, fx.Node) else found
