"""Tables as text."""

from __future__ import annotations


def aligned(header: list[str], rows: list[list[str]]) -> list[str]:
    """Columns aligned, the first to the left."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for first, *others in [header, *rows]:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells))
    return lines
