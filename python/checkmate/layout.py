"""Layouts: where in one piece of memory each block lies, so that blocks that live at once do not overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from . import _checks, _core
from .errors import Error
from .graph import handle_of
from .plan import Plan

__all__ = ["Block", "Layout", "blocks_of", "lay_out"]

_MOMENTS = 2**32


@dataclass(frozen=True, slots=True)
class Block:
    """Memory that is needed for a while."""

    size: int
    first: int
    """The moment at which it is needed for the first time."""
    last: int
    """The moment from which it is no longer needed: ``last - first`` moments in all."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets of blocks in one piece of memory, checked before you see them."""

    offsets: list[int] = field(repr=False)
    """Per block, multiples of ``alignment``."""
    size: int
    """Bytes that hold all blocks."""
    peak: int
    """The most bytes, rounded up to the alignment, that live at once. No layout is smaller."""
    alignment: int
    optimal: bool
    """Whether it is proven that no layout is smaller."""
    seconds: float = field(default=0.0, compare=False)
    """How long the search took."""

    @property
    def excess(self) -> float:
        """The share of the peak that the layout takes beyond it: ``(size - peak) / peak``; 0 for no blocks."""
        return (self.size - self.peak) / self.peak if self.peak else 0.0


def blocks_of(plan: Plan) -> list[Block]:
    """The blocks that a plan needs, in the order in which it allocates them.

    Step by step: the outputs of the step's op, each until it is freed, then the op's workspace, if it has any, for that step
    alone. Step ``i`` is moment ``i``. Fixed memory is not part of it.
    """
    return [Block(*row) for row in _core.blocks_of(handle_of(plan.graph), plan._handle)]


def lay_out(
    blocks: Plan | Iterable[Block | tuple[int, int, int]],
    *,
    time_limit: float = _core.default_layout_time_limit,
    seed: int = _core.default_seed,
    alignment: int = _core.default_alignment,
    capacity: int | None = None,
    moves: int = 0,
) -> Layout:
    """The smallest layout that can be found in time.

    ``blocks``: each a :class:`Block` or its ``(size, first, last)``; or a plan, for :func:`blocks_of` it.
    ``time_limit``: in seconds; then the best layout so far is returned. ``alignment``: of offsets, in bytes; sizes count as
    rounded up to it. ``capacity``: stop as soon as the layout is no larger. ``moves``: stop after this many moves (0: no
    limit); the same ``seed`` then gives the same layout.

    Other Python threads keep running. Ctrl-C in the main thread ends the search: the best layout so far is returned.
    """
    rows = _core.blocks_of(handle_of(blocks.graph), blocks._handle) if isinstance(blocks, Plan) else _rows(blocks)
    step = _checks.natural(alignment, "alignment")
    offsets, size, peak, optimal, seconds = _core.lay_out(
        rows,
        _checks.number(time_limit, "time_limit"),
        _checks.natural(seed, "seed"),
        step,
        None if capacity is None else _checks.natural(capacity, "capacity"),
        _checks.natural(moves, "moves"),
    )
    return Layout(offsets, size, peak, step, optimal, seconds)


def _rows(blocks: Iterable[Block | tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return [_row(index, block) for index, block in enumerate(blocks)]


def _row(index: int, block: Block | tuple[int, int, int]) -> tuple[int, int, int]:
    of = f" of block {index}"
    parts = block if not isinstance(block, Block) else (block.size, block.first, block.last)
    if len(_checks.sequence(parts, f"block {index}")) != 3:
        raise Error(f"block {index} must be (size, first, last), got {block!r:.60}")
    size, first, last = parts
    return (
        _checks.natural(size, "size", of),
        _checks.natural(first, "first", of, limit=_MOMENTS),
        _checks.natural(last, "last", of, limit=_MOMENTS),
    )
