"""A step as two things at once: ops one after the other, and messages one after the other beside them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple


class Part(Enum):
    """Of a run of a unit."""

    ALL = "all"
    START = "start"  # of a collective, whose message then goes on by itself
    FINISH = "finish"  # it waits for that


class Event(NamedTuple):
    """What happens next."""

    unit: int
    part: Part


def duration(events: Sequence[Event], costs: Sequence[int]) -> int:
    """How long it takes, in the unit of the costs: a message goes out when it was started and those before it are through, and
    ops go on until somebody waits for it."""
    now = network = 0
    ready: dict[int, int] = {}
    for unit, part in events:
        if part is Part.ALL:
            now += costs[unit]
        elif part is Part.START:
            network = ready[unit] = max(network, now) + costs[unit]
        else:
            now = max(now, ready[unit])
    return max(now, network)
