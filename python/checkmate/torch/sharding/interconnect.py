"""What a message between processes costs: latency, and bytes over bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from checkmate import Error


@dataclass(frozen=True)
class Interconnect:
    """How long collectives take, by the alpha-beta model: with p ranks and a whole parameter of n bytes, a gather or a reduction
    takes ``latency`` x ceil(log2 p) + n (p - 1) / p / ``bandwidth`` seconds.
    """

    latency: float
    """Seconds of one hop."""
    bandwidth: float
    """Bytes per second that a rank receives."""
    ranks: int | None = None
    """Over which parameters are sharded; by default those that run."""

    def __post_init__(self) -> None:
        if not (self.latency >= 0 and math.isfinite(self.latency)):
            raise Error(f"latency must be a number of seconds, 0 or more, got {self.latency!r}")
        if not (self.bandwidth > 0 and math.isfinite(self.bandwidth)):
            raise Error(f"bandwidth must be a positive number of bytes per second, got {self.bandwidth!r}")
        if self.ranks is not None and self.ranks < 1:
            raise Error(f"ranks must be 1 or more, got {self.ranks!r}")

    def seconds(self, nbytes: int, ranks: int) -> float:
        """Of a gather whose result has so many bytes, or of a reduction of so many."""
        ranks = self.ranks or ranks
        return self.latency * math.ceil(math.log2(ranks)) + nbytes * (ranks - 1) / ranks / self.bandwidth

    def nanoseconds(self, target: Any, itemsize: int) -> int:
        """Of a collective; a reduction is then summed over the replicas, and sent to them."""
        layout, nbytes = target.layout, target.elements * itemsize
        seconds = self.seconds(nbytes, layout.ranks)
        if target.effect and layout.replicas > 1:
            hop = replace(self, ranks=layout.replicas)
            seconds += 2 * hop.seconds(nbytes // layout.ranks, layout.replicas)
        return max(1, round(1e9 * seconds))

    def small_bytes(self, ranks: int) -> int:
        """A message of fewer bytes takes more time for its latency than for its bytes."""
        ranks = self.ranks or ranks
        if ranks == 1:
            return 0
        return int(self.latency * math.ceil(math.log2(ranks)) * self.bandwidth * ranks / (ranks - 1))
