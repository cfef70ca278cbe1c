"""The options of `compile`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkmate import Error
from checkmate.frontend.options import PlanningOptions
from checkmate.torch.optimizer import StepOptimizer


@dataclass(frozen=True)
class Options(PlanningOptions):
    """The arguments of the same names."""

    process_group: Any = None
    shard: Any = None
    network: Any = None
    optimizer: StepOptimizer | None = None
    kernels: str = "aten"
    deliver: str = "now"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernels not in ("aten", "fused"):
            raise Error(f'kernels must be "aten" or "fused", got {self.kernels!r:.60}')
        if self.deliver not in ("now", "backward"):
            raise Error(f'deliver must be "now" or "backward", got {self.deliver!r:.60}')
        if self.deliver == "backward" and self.optimizer is not None:
            raise Error(
                'deliver="backward" leaves no gradients for an optimizer in the step: leave out optimizer=, and call '
                "optimizer.step() after loss.backward(); or leave out deliver="
            )
