"""Where the parts of a parameter are: over which processes it is sharded by its first dimension, and over which replicated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Layout:
    """Shards by the first dimension, as fully_shard makes them: rank r has the r-th run of ceil(rows / ranks) rows, the last
    ranks fewer or none. In memory each shard is padded to that many rows."""

    ranks: int
    rank: int = 0
    replicas: int = 1  # of the whole arrangement, in a hybrid one

    def rows(self, size: Sequence[int]) -> int:
        """Of a padded shard."""
        return -(-size[0] // self.ranks)

    def own_rows(self, size: Sequence[int]) -> int:
        """Of this rank's shard, without padding."""
        rows = self.rows(size)
        return max(0, min(rows, size[0] - self.rank * rows))

    def is_even(self, size: Sequence[int]) -> bool:
        """Whether there is no padding."""
        return size[0] % self.ranks == 0

    def padded_shard(self, size: Sequence[int]) -> torch.Size:
        """The size of a padded shard of a parameter of this size."""
        return torch.Size((self.rows(size), *size[1:]))

    def padded(self, size: Sequence[int]) -> torch.Size:
        """That of all of them together."""
        return torch.Size((self.ranks * self.rows(size), *size[1:]))

    def shard_elements(self, size: Sequence[int]) -> int:
        """Of a padded shard."""
        return math.prod(self.padded_shard(size))
