"""What kinds of ops there are to fusion."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from checkmate.torch.fx_utils import overload

aten, prims = torch.ops.aten, torch.ops.prims

# In addition to ops that torch tags as pointwise, or as reductions.
_ELEMENTWISE: set[Any] = {
    aten._unsafe_index.Tensor,
    aten._unsafe_masked_index.default,
    aten.arange.start_step,
    aten.cat.default,
    aten.clone.default,
    aten.constant_pad_nd.default,
    aten.copy.default,
    aten.embedding.default,
    aten.full.default,
    aten.full_like.default,
    aten.gather.default,
    aten.index.Tensor,
    aten.masked_fill.Scalar,
    aten.scalar_tensor.default,
    aten.select_scatter.default,
    aten.slice_scatter.default,
    aten.tril.default,
    aten.triu.default,
    aten.where.self,
    prims.convert_element_type.default,
    prims.iota.default,
}
_REDUCTIONS: set[Any] = {aten.mean.dim, aten.mean.default, aten.var_mean.correction, aten.var.correction}


def is_elementwise(node: fx.Node) -> bool:
    """Whether each element of its result is computed from a few: computed again inside another kernel, it costs little."""
    op = overload(node)
    return op is not None and (torch.Tag.pointwise in op.tags or op in _ELEMENTWISE)


def is_reduction(node: fx.Node) -> bool:
    """Whether each element of its result is computed from many."""
    op = overload(node)
    return op is not None and (torch.Tag.reduction in op.tags or op in _REDUCTIONS)
