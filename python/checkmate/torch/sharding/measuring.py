"""The interconnect of a group, as its own messages tell it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import torch

from checkmate.torch.sharding.collectives import Gather, Wire
from checkmate.torch.sharding.interconnect import Interconnect
from checkmate.torch.sharding.placement import Layout

_ELEMENTS = (1 << 10, 1 << 19)  # of the small and the large message that are timed
_RUNS = 5


def measured_interconnect(
    wire: Wire, layout: Layout, in_lockstep: Callable[[Callable[[], Interconnect]], Interconnect]
) -> Interconnect:
    """That of a group, whose ranks all call this: gathers of a small and of a large parameter, timed alone."""
    if layout.ranks == 1:
        return Interconnect(0.0, 1e12)
    seconds = []
    for elements in _ELEMENTS:
        shard = torch.zeros(elements // layout.ranks)
        gather = Gather(layout, [torch.Size((elements // layout.ranks * layout.ranks,))], wire)
        times = []
        for _ in range(_RUNS + 1):
            begin = time.perf_counter()
            gather(shard)
            times.append(time.perf_counter() - begin)
        seconds.append(statistics.median(times[1:]))  # the first one connects

    def fitted() -> Interconnect:
        small, large = seconds
        share = (layout.ranks - 1) / layout.ranks
        moved = 4 * (_ELEMENTS[1] - _ELEMENTS[0]) * share
        bandwidth = moved / max(large - small, 1e-3 * large)
        latency = max(0.0, small - 4 * _ELEMENTS[0] * share / bandwidth) / math.ceil(math.log2(layout.ranks))
        return Interconnect(latency, bandwidth)

    return in_lockstep(fitted)
