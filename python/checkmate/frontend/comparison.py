"""How far two runs of the same step are from each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Distance:
    """How far two results are from each other, element by element."""

    differing: int = 0
    """Elements whose bits differ: -0 is not 0, and one NaN is not another."""
    nans: int = 0
    """Those among them that are a NaN on either side."""
    largest: float = 0.0
    """The largest absolute difference of the others; infinite if one side is infinite or missing."""

    def __or__(self, other: Distance) -> Distance:
        return Distance(self.differing + other.differing, self.nans + other.nans, max(self.largest, other.largest))

    def __str__(self) -> str:
        if not self.differing:
            return "bitwise equal"
        nans = f", {self.nans} of them NaN" if self.nans else ""
        return f"{self.differing} elements differ{nans}, by at most {self.largest:.3g}"


@dataclass(frozen=True)
class Difference:
    """Between two runs of the same step."""

    loss: Distance
    gradients: Distance
    buffers: Distance
    """And whatever else the step writes into, such as parameters and the state of an optimizer that is a part of it."""

    @property
    def none(self) -> bool:
        """Whether everything is bitwise equal."""
        return not (self.loss.differing or self.gradients.differing or self.buffers.differing)

    def __str__(self) -> str:
        if self.none:
            return "loss, gradients and buffers bitwise equal"
        parts = {"loss": self.loss, "gradients": self.gradients, "buffers": self.buffers}
        return "; ".join(f"{name}: {distance}" for name, distance in parts.items())
