"""Errors. Everything that this package raises on purpose is an :class:`Error`, which is a ``ValueError``."""

from __future__ import annotations

from typing import Any

__all__ = ["Error", "InfeasibleError", "MatplotlibMissingError", "NoPlanError", "PandasMissingError", "TorchMissingError"]


class Error(ValueError):
    """A graph, plan, file or option that cannot be used. The message says where, what is wrong and what would be right.

    ``code`` is one of ``invalid_argument``, ``invalid_file``, ``invalid_graph``, ``invalid_plan``, ``io``, ``too_large``,
    ``internal`` (a bug of ours), ``infeasible``, ``no_plan``, ``no_torch``, ``no_matplotlib`` and ``no_pandas``.
    """

    code: str

    def __init__(self, message: str, code: str = "invalid_argument") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.code)


class InfeasibleError(Error):
    """Proven: no plan fits the budget.

    ``budget`` is what was asked for. ``needed`` is proven: no plan fits in fewer bytes. ``sufficient``, where it is known: a plan
    fits in that many bytes. ``op`` is the name of the op that needs the most by itself.
    """

    budget: int
    needed: int
    op: str
    sufficient: int | None

    def __init__(self, message: str, budget: int, needed: int, op: str, sufficient: int | None = None) -> None:
        super().__init__(message, "infeasible")
        self.budget, self.needed, self.op, self.sufficient = budget, needed, op, sufficient

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.budget, self.needed, self.op, self.sufficient)


class NoPlanError(Error):
    """No plan was found, and no proof that there is none.

    ``sufficient``, where it is known: a plan fits in that many bytes; :func:`checkmate.least_budget` looks for less and returns
    it. ``needed``, where it is known, is proven: no plan fits in fewer bytes. ``stop_reason``: why the search ended, as in
    :class:`checkmate.Plan`.
    """

    budget: int
    sufficient: int | None
    stop_reason: str | None
    needed: int | None

    def __init__(
        self,
        message: str,
        budget: int,
        sufficient: int | None,
        stop_reason: str | None = None,
        needed: int | None = None,
    ) -> None:
        super().__init__(message, "no_plan")
        self.budget, self.sufficient, self.stop_reason, self.needed = budget, sufficient, stop_reason, needed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.budget, self.sufficient, self.stop_reason, self.needed)


class TorchMissingError(Error, ImportError):
    """PyTorch is needed and not installed."""

    def __init__(self) -> None:
        super().__init__("PyTorch is not installed: pip install torch==2.13.0", "no_torch")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class MatplotlibMissingError(Error, ImportError):
    """matplotlib is needed and not installed."""

    def __init__(self) -> None:
        super().__init__("matplotlib is not installed: pip install matplotlib", "no_matplotlib")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class PandasMissingError(Error, ImportError):
    """pandas is needed and not installed."""

    def __init__(self) -> None:
        super().__init__("pandas is not installed: pip install pandas", "no_pandas")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()
