"""Progress of a search: callbacks, and a live line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

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


class Listener(NamedTuple):
    """What the core calls: `report` with news, `tick` a few times per second."""

    report: Callable[[float, int | None, int | None, str], None] | None = None
    tick: Callable[[], None] | None = None


@contextmanager
def listening(progress: ProgressOption, line: ProgressLine) -> Iterator[Listener]:
    """The caller's own function; or the line, if stderr is a terminal or a notebook; or nothing."""
    if callable(progress):
        yield Listener(report=lambda *state: _ignore(progress(Progress(*state))))
    elif progress is not None and progress is not False:
        raise TypeError(f"progress must be None, False or a function, got {progress!r:.60}")
    elif progress is None and _watched():
        try:
            yield Listener(line.report, line.tick)
        finally:
            line.clear()
    else:
        yield Listener()


class ProgressLine:
    """One line on stderr, written over again and again."""

    INTERVAL = 0.1
    """Seconds between two writes: the line is for people, and a notebook sends each over the network."""

    def __init__(self, graph: Graph | None, task: str = "") -> None:
        self._unit_cost = graph.keep_all_cost if graph is not None else 0
        self._begun = self._written = time.monotonic()
        self._width = 0
        self.begin(task)

    def begin(self, task: str) -> None:
        """Starts the line of another search."""
        self._task = task
        self._cost: int | None = None
        self._bound: int | None = None

    def report(self, _seconds: float, cost: int | None, bound: int | None, _method: str) -> None:
        """Keeps what is new; what is not repeated still holds."""
        self._cost = self._cost if cost is None else cost
        self._bound = self._bound if bound is None else bound
        self.tick()

    def tick(self) -> None:
        """Writes the line, if it is time to."""
        now = time.monotonic()
        if now - self._written < self.INTERVAL:
            return
        self._written = now
        known = Progress(now - self._begun, self._cost, self._bound, "")
        parts = [f"{self._task}{known.seconds:.1f} s"]
        if known.cost is not None and self._unit_cost:
            parts.append(f"best {known.cost / self._unit_cost:.4f}x")
        if known.bound is not None and self._unit_cost:
            parts.append(f"bound {known.bound / self._unit_cost:.4f}x")
        if known.gap is not None:
            parts.append(f"gap {known.gap:.1%}")
        self._write("  ".join(parts))

    def clear(self) -> None:
        """Restores the terminal."""
        if self._width:
            self._write("")
            self._write("")

    def _write(self, text: str) -> None:
        try:
            # Spaces, not an escape sequence: notebooks do not know those.
            sys.stderr.write(f"\r{text:<{self._width}}")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # a closed terminal is no reason to end a search
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
