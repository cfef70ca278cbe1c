"""Errors between a model and a plan."""

from __future__ import annotations

from checkmate import Error


class CaptureError(Error):
    """The step cannot be captured as one graph."""


def first_line(error: Exception) -> str:
    """What it is, without the pages that frameworks add."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
