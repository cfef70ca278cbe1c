"""A live line while ops are measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from checkmate.progress import ProgressOption, _watched


@contextmanager
def counting(progress: ProgressOption, task: str) -> Iterator[Callable[[int, int], None] | None]:
    """Something to call with (done, of how many), where somebody watches."""
    if progress is False or not _watched():
        yield None
        return

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r{task}: {done} of {total}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r" + " " * 40 + "\r")
        sys.stderr.flush()
