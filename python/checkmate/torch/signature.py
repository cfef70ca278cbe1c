"""The order of a step's inputs, which everything that hands them over agrees on here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from checkmate.torch.guards import ModelState, flatten_batch

_TENSOR = object()  # stands for a tensor of the batch, which the signature must not keep alive


@dataclass(frozen=True)
class Signature:
    """Inputs are the parameters, the buffers, the tensors of the batch, the constants, and the gradients to add to.

    Constants are tensors that the loss function reads and the model does not own.
    """

    parameters: tuple[str, ...]
    buffers: tuple[str, ...]
    batch_leaves: tuple[Any, ...]  # plain values, and _TENSOR for each tensor
    batch_spec: pytree.TreeSpec
    constants: tuple[torch.Tensor, ...] = ()
    accumulated: tuple[str, ...] = ()  # parameters whose gradients are added to those of earlier steps

    @staticmethod
    def of(state: ModelState, batch: Sequence[Any]) -> Signature:
        """Of a step that reads the model and the batch."""
        leaves, spec = flatten_batch(batch)
        plain = tuple(_TENSOR if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves)
        return Signature(tuple(state.parameter_names), tuple(state.buffer_names), plain, spec)

    @property
    def model_inputs(self) -> tuple[str, ...]:
        """The names of the inputs that the model owns: the first ones."""
        return (*self.parameters, *self.buffers)

    def values(self, state: ModelState, batch: Sequence[Any]) -> list[torch.Tensor]:
        """What a call hands over, in order."""
        return [
            *state.parameters(),
            *state.buffers(),
            *tensors_of_batch(batch),
            *self.constants,
            *(state.gradient(name) for name in self.accumulated),
        ]

    def batch_from(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The batch as the loss function takes it, with these tensors in the place of its own."""
        remaining = iter(tensors)
        leaves = [next(remaining) if leaf is _TENSOR else leaf for leaf in self.batch_leaves]
        return pytree.tree_unflatten(leaves, self.batch_spec)

    def describe(self, position: int) -> str:
        """What the input at this position is, in words."""
        owned = [*(f"parameter {n}" for n in self.parameters), *(f"buffer {n}" for n in self.buffers)]
        batch = [f"tensor {i} of the batch" for i in range(sum(leaf is _TENSOR for leaf in self.batch_leaves))]
        known = [*owned, *batch]
        return known[position] if position < len(known) else "a tensor that neither the model nor the batch holds"


def tensors_of_batch(batch: Sequence[Any]) -> list[torch.Tensor]:
    """In the order in which the step takes them."""
    return [leaf for leaf in flatten_batch(batch)[0] if isinstance(leaf, torch.Tensor)]
