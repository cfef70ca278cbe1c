"""The options of `compile`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkmate import Error, Graph, Plan, _core
from checkmate._core import parse_bytes
from checkmate.progress import ProgressOption
from checkmate.torch.optimizer import StepOptimizer


@dataclass(frozen=True)
class Options:
    """The arguments of the same names."""

    budget: str | int | None = None
    reserve: str | int = 0
    costs: str = "measured"
    order: str = _core.default_order
    time_limit: float = 10.0
    gap: float = 2e-3
    patience: float = 1.0
    threads: int | None = None
    seed: int = _core.default_seed
    cache: Path | None = None
    plan: Plan | Path | None = None
    progress: ProgressOption = None
    process_group: Any = None
    optimizer: StepOptimizer | None = None
    kernels: str = "aten"
    deliver: str = "now"
    spared_bytes: int = 0  # by which the step could take less without recomputation: shares are of that

    @property
    def reserved_bytes(self) -> int:
        """The reserve as a number."""
        return parse_bytes(self.reserve) if isinstance(self.reserve, str) else self.reserve

    @property
    def limits(self) -> str:
        """What ends a search, as a part of a plan's key in the cache."""
        return f"{self.time_limit} {self.gap} {self.patience}"

    def budget_bytes(self, graph: Graph) -> int:
        """For a step with this graph. Shares are of what it takes without recomputation, at best."""
        assert self.budget is not None, "somebody asked for it"
        budget = graph.parse_budget(self.budget)
        if not self.spared_bytes or not isinstance(self.budget, str) or "%" not in self.budget:
            return budget
        return budget - self.spared_bytes * (budget - graph.fixed_bytes) // max(1, graph.keep_all_peak)

    def __post_init__(self) -> None:
        if self.costs not in ("measured", "flops"):
            raise Error(f'costs must be "measured" or "flops", got {self.costs!r:.60}')
        if self.kernels not in ("aten", "fused"):
            raise Error(f'kernels must be "aten" or "fused", got {self.kernels!r:.60}')
        if self.deliver not in ("now", "backward"):
            raise Error(f'deliver must be "now" or "backward", got {self.deliver!r:.60}')
        if self.deliver == "backward" and self.optimizer is not None:
            raise Error(
                'deliver="backward" leaves no gradients for an optimizer in the step: leave out optimizer=, and call '
                "optimizer.step() after loss.backward(); or leave out deliver="
            )
