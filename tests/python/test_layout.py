"""Layouts of blocks and of plans."""

from __future__ import annotations

import pytest

import checkmate
from checkmate import Block, _core, blocks_of, lay_out


def rows(blocks: list[Block]) -> list[tuple[int, int, int]]:
    return [(block.size, block.first, block.last) for block in blocks]


def test_blocks_that_do_not_meet_share_memory() -> None:
    layout = lay_out([(30, 0, 2), Block(20, 1, 4), (25, 2, 4)], alignment=1)
    assert (layout.size, layout.peak, layout.optimal, layout.excess) == (50, 50, True, 0.0)  # 30 + 20, then 20 + 25
    assert len(layout.offsets) == 3


def test_sizes_are_rounded_up_to_the_alignment() -> None:
    layout = lay_out([(1, 0, 1), (65, 0, 1)])
    assert (layout.alignment, layout.size) == (64, 192)  # 64 + 128
    assert all(offset % 64 == 0 for offset in layout.offsets)


def test_a_plan_is_laid_out_and_passes_the_check() -> None:
    graph = checkmate.load("zoo:mobilenet?batch=8")
    plan = checkmate.solve(graph, "60%", time_limit=10, moves=2000, threads=1, progress=False)
    blocks = blocks_of(plan)
    layout = lay_out(plan, moves=500, time_limit=60)
    assert layout == lay_out(blocks, moves=500, time_limit=60)
    assert len(layout.offsets) == len(blocks) >= len(plan)
    _core.check_layout(rows(blocks), layout.offsets, layout.size, layout.alignment)
    assert plan.peak - graph.fixed_bytes <= layout.peak <= layout.size
    with pytest.raises(checkmate.Error, match=r"overlap|outside"):
        _core.check_layout(rows(blocks), [0] * len(blocks), layout.size, layout.alignment)


def test_integers_of_other_libraries_are_taken() -> None:
    numpy = pytest.importorskip("numpy")
    blocks = numpy.array([[64, 0, 2], [64, 1, 3]])
    assert lay_out(map(tuple, blocks)).size == 128


def test_nothing_takes_no_memory() -> None:
    assert lay_out([]).size == 0
    assert lay_out([]).excess == 0.0


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(1, 2)], r"block 0 must be \(size, first, last\)"),
        ([(1, 0, 1), (-1, 0, 1)], "size of block 1 must be 0 or more"),
        ([(1, 2, 1)], "before it begins"),
        ([(2**62, 0, 1), (1, 0, 1)], "sum to more than"),
        ([(1, 0, 2**32)], "last of block 0 is too large"),
    ],
)
def test_wrong_blocks_are_refused(blocks: list[tuple[int, int, int]], message: str) -> None:
    with pytest.raises(checkmate.Error, match=message):
        lay_out(blocks)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(checkmate.Error, match="alignment"):
        lay_out([], alignment=0)
    with pytest.raises(checkmate.Error, match="time limit"):
        lay_out([], time_limit=-1)
    with pytest.raises(TypeError, match="capacity"):
        lay_out([], capacity="1GiB")  # type: ignore[arg-type]


def test_what_a_notebook_shows_is_as_short_for_many_blocks() -> None:
    shown = repr(checkmate.lay_out([(64, i, i + 1) for i in range(1000)], time_limit=0.1))
    assert shown.startswith("Layout(size=64, peak=64, alignment=64, optimal=True")
