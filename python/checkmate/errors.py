"""What can go wrong. Everything that this package raises on purpose is an :class:`Error`, and so a ``ValueError``."""

from __future__ import annotations

from typing import Any

__all__ = ["Error", "InfeasibleError", "MatplotlibMissingError", "NoPlanError", "TorchMissingError"]


class Error(ValueError):
    """A graph, plan, file or option that cannot be used. The message says where, what is wrong and what would be right.

    ``code`` is one of ``invalid_argument``, ``invalid_file``, ``invalid_graph``, ``invalid_plan``, ``io``, ``too_large``,
    ``infeasible``, ``no_plan``, ``no_torch`` and ``no_matplotlib``.
    """

    code: str

    def __init__(self, message: str, code: str = "invalid_argument") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.code)


class InfeasibleError(Error):
    """Proven: no plan fits the budget.

    ``budget`` is what was asked for; no budget below ``min_feasible`` bytes has a plan; ``op`` is the name of the op that needs
    the most by itself. ``least_peak``, where it is known, is a budget that has one.
    """

    budget: int
    min_feasible: int
    op: str
    least_peak: int | None

    def __init__(self, message: str, budget: int, min_feasible: int, op: str, least_peak: int | None = None) -> None:
        super().__init__(message, "infeasible")
        self.budget, self.min_feasible, self.op, self.least_peak = budget, min_feasible, op, least_peak

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.budget, self.min_feasible, self.op, self.least_peak)


class NoPlanError(Error):
    """No plan was found, and no proof that there is none.

    ``least_peak``, where it is known, is a budget in bytes for which there is a plan.
    """

    budget: int
    least_peak: int | None

    def __init__(self, message: str, budget: int, least_peak: int | None) -> None:
        super().__init__(message, "no_plan")
        self.budget, self.least_peak = budget, least_peak

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.budget, self.least_peak)


class TorchMissingError(Error, ImportError):
    """What was asked for needs PyTorch, which is not installed."""

    def __init__(self) -> None:
        super().__init__("PyTorch is not installed: pip install torch==2.13.0", "no_torch")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class MatplotlibMissingError(Error, ImportError):
    """A picture needs matplotlib, which is not installed."""

    def __init__(self) -> None:
        super().__init__("matplotlib is not installed: pip install matplotlib", "no_matplotlib")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()
