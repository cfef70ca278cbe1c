"""How long the parts of compiling took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """Seconds that the parts of compiling took."""

    capture: float = 0.0
    kernels: float = 0.0
    costs: float = 0.0
    solve: float = 0.0
