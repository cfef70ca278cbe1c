"""Parameters that are so small that one message carries several."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from checkmate.torch.fx_utils import value
from checkmate.torch.sharding.gathers import first_reads
from checkmate.torch.sharding.interconnect import Interconnect
from checkmate.torch.sharding.placement import Layout
from checkmate.torch.trace import Trace


def buckets_of(trace: Trace, sharded: Sequence[str], layout: Layout, network: Interconnect) -> list[list[str]]:
    """Neighbours in the order of their first reads, for whose bytes a message takes less time than for its latency: joined until
    their bytes take as long. A larger bucket would save less than half, and hold for longer what is gathered together."""
    small = network.small_bytes(layout.ranks)
    inputs = dict(zip(trace.signature.model_inputs, trace.inputs, strict=False))
    open_buckets: dict[tuple[torch.dtype, bool], list[str]] = {}
    sizes: dict[tuple[torch.dtype, bool], int] = {}
    done: list[list[str]] = []
    for name in first_reads(trace, sharded):
        whole = value(inputs[name])
        if whole.nbytes >= small:
            continue
        kind = whole.dtype, name in trace.gradients
        open_buckets.setdefault(kind, []).append(name)
        sizes[kind] = sizes.get(kind, 0) + whole.nbytes
        if sizes[kind] >= small:
            done.append(open_buckets.pop(kind))
            del sizes[kind]
    return [names for names in [*done, *open_buckets.values()] if len(names) > 1]
