"""How a search tells how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .graph import Graph

__all__ = ["Progress", "ProgressOption"]


@dataclass(frozen=True, slots=True)
class Progress:
    """A better plan, or a better bound."""

    seconds: float
    cost: int | None
    """Of the best plan so far."""
    bound: int | None
    """The method's own lower bound; of ``milp``, that for the paper's class of plans."""
    method: str

    @property
    def gap(self) -> float | None:
        """``(cost - bound) / cost``, where both are known."""
        if self.cost is None or self.bound is None:
            return None
        return max(0.0, (self.cost - self.bound) / self.cost) if self.cost else 0.0


ProgressOption: TypeAlias = Callable[[Progress], object] | Literal[False] | None
Reporter: TypeAlias = Callable[[float, int | None, int | None, str], None]


@contextmanager
def reporting(progress: ProgressOption, line: ProgressLine | None = None) -> Iterator[Reporter | None]:
    """What the core calls: the caller's own function, a live line where somebody watches, or nothing."""
    if progress is not None and progress is not False and not callable(progress):
        raise TypeError(f"progress is None, False or a function, got {progress!r:.60}")
    if callable(progress):
        yield lambda *state: _ignore(progress(Progress(*state)))
    elif progress is None and line is not None and _watched():
        try:
            yield lambda *state: line.show(Progress(*state))
        finally:
            line.clear()
    else:
        yield None


class ProgressLine:
    """One line on stderr, written over again and again, at most ten times a second."""

    INTERVAL = 0.1

    def __init__(self, graph: Graph | None, task: str = "") -> None:
        self.task = task
        self._unit_cost = graph.keep_all_cost if graph is not None else 0
        self._width = 0
        self._shown = float("-inf")

    def show(self, progress: Progress) -> None:
        if time.monotonic() - self._shown < self.INTERVAL:
            return
        self._shown = time.monotonic()
        parts = [f"{self.task}{progress.seconds:.1f} s"]
        if progress.cost is not None and self._unit_cost:
            parts.append(f"best {progress.cost / self._unit_cost:.4f}x")
        if progress.bound is not None and self._unit_cost:
            parts.append(f"bound {progress.bound / self._unit_cost:.4f}x")
        if progress.gap is not None:
            parts.append(f"gap {progress.gap:.1%}")
        self._write("  ".join(parts))

    def clear(self) -> None:
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        # Spaces, not an escape sequence: notebooks do not know those.
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = len(text)


def _watched() -> bool:
    stream = sys.stderr
    if stream is None or stream.closed:
        return False
    return stream.isatty() or _in_notebook()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _ignore(_: object) -> None:
    pass
