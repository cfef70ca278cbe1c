"""The options of `compile`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkmate import Error, Plan
from checkmate._core import parse_bytes
from checkmate.progress import ProgressOption
from checkmate.torch.optimizer import StepOptimizer


@dataclass(frozen=True)
class Options:
    """The arguments of the same names."""

    budget: str | int | None
    reserve: str | int
    costs: str
    order: str
    time_limit: float
    gap: float
    threads: int | None
    seed: int
    cache: Path | None
    plan: Plan | Path | None
    progress: ProgressOption
    process_group: Any
    optimizer: StepOptimizer | None
    kernels: str

    @property
    def reserved_bytes(self) -> int:
        """The reserve as a number."""
        return parse_bytes(self.reserve) if isinstance(self.reserve, str) else self.reserve

    def __post_init__(self) -> None:
        if self.costs not in ("measured", "flops"):
            raise Error(f'costs must be "measured" or "flops", got {self.costs!r:.60}')
        if self.kernels not in ("aten", "fused"):
            raise Error(f'kernels must be "aten" or "fused", got {self.kernels!r:.60}')
