"""What a run of a step computed, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from checkmate.frontend.comparison import Difference, Distance


@dataclass(frozen=True)
class Result:
    """Numbers of one run, copied."""

    loss: Sequence[Any]
    gradients: Sequence[Any]
    state: Sequence[Any]

    @classmethod
    def of(cls, returned: Any, state: Sequence[Any]) -> Result:
        """Numbers of what a step returned and wrote: with gradients, they come last."""
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2 and isinstance(returned[1], (tuple, list))
        loss, gradients = returned if pair else (returned, ())
        return cls(_numbers(loss), _numbers(gradients), state)

    def difference(self, other: Result) -> Difference:
        """Bit by bit."""
        return Difference(
            *(
                _distances(mine, theirs)
                for mine, theirs in (
                    (self.loss, other.loss),
                    (self.gradients, other.gradients),
                    (self.state, other.state),
                )
            )
        )


def _numbers(structure: Any) -> list[Any]:
    leaves = tf.nest.flatten(structure, expand_composites=True)
    return [np.array(leaf) for leaf in leaves if leaf is not None]


def _distances(first: Sequence[Any], second: Sequence[Any]) -> Distance:
    total = Distance()
    for a, b in zip(first, second, strict=True):
        total |= distance(a, b)
    return total


def distance(a: Any, b: Any) -> Distance:
    """Between two arrays of one type."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return Distance(differing=a.size, largest=float("inf"))
    differs = _differing(a, b)
    if not differs.any():
        return Distance()
    first, second = (np.asarray(each[differs], np.float64) for each in (a, b))
    nan = np.isnan(first) | np.isnan(second)
    apart = np.abs(first - second)[~nan]
    return Distance(int(differs.sum()), int(nan.sum()), float(apart.max()) if apart.size else 0.0)


def _differing(a: Any, b: Any) -> Any:
    """Which elements have other bits."""
    width = a.dtype.itemsize
    first, second = (np.ascontiguousarray(each).reshape(-1).view(np.uint8).reshape(-1, width) for each in (a, b))
    return (first != second).any(axis=1).reshape(a.shape)
