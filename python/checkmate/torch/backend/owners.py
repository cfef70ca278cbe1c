"""Models that were wrapped: they hold parameters and buffers that no graph may read, where Dynamo left ops to eager mode."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import torch
from torch import nn

_models: weakref.WeakSet[nn.Module] = weakref.WeakSet()


def remember(model: nn.Module) -> None:
    """As long as it lives."""
    _models.add(model)


def held_by_owners(inputs: Sequence[torch.Tensor]) -> dict[int, int]:
    """All parameters and buffers of the models whose parameters are among the inputs. Addresses, and bytes there."""
    read = {id(tensor) for tensor in inputs if isinstance(tensor, nn.Parameter)}
    owners = [model for model in _models if any(id(parameter) in read for parameter in model.parameters())]
    storages = [t.untyped_storage() for model in owners for t in (*model.parameters(), *model.buffers()) if not t.is_sparse]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}
