"""What is done without a plan: the four settings that sharded training is usually run with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from checkmate.torch.ir import Program
from checkmate.torch.sharding.collectives import Gather

_BLOCK = re.compile(r"^(?:[^.]+\.)*?\d+(?=\.|$)")  # the first module that is numbered, as layers of networks are


class Setting(NamedTuple):
    """Flags for the whole model."""

    reshard: bool  # gathered parameters are dropped after the forward pass, as with reshard_after_forward=True
    checkpoint: bool  # of a block, only what goes into it is kept for the backward pass

    def __str__(self) -> str:
        return (
            f"{'reshard' if self.reshard else 'keep parameters'}, {'checkpoint blocks' if self.checkpoint else 'no checkpoints'}"
        )


SETTINGS = tuple(Setting(reshard, checkpoint) for reshard in (False, True) for checkpoint in (False, True))


def usual_steps(program: Program, setting: Setting) -> list[int]:
    """The units in their order, and what was dropped made again right before the backward pass reads it."""
    forward = [index for index, unit in enumerate(program.units) if unit.origin.phase == "forward"]
    dropped = set(_dropped(program, forward, setting))
    made: set[int] = set()
    steps: list[int] = []

    def run(index: int) -> None:
        for storage in program.units[index].reads:
            maker = program.storages[storage].unit
            if maker is not None and storage not in made:
                run(maker)
        steps.append(index)
        made.update(program.units[index].makes)

    last_forward = forward[-1] if forward else -1
    for index in range(len(program.units)):
        run(index)
        if index == last_forward:
            made -= dropped
    return steps


def block_of(module: str) -> str | None:
    """The block that a module is a part of."""
    found = _BLOCK.match(module)
    return found[0] if found else None


def _dropped(program: Program, forward: list[int], setting: Setting) -> Iterator[int]:
    readers: dict[int, set[str | None]] = {}  # of each storage, in the forward pass
    for index in forward:
        for storage in program.units[index].reads:
            readers.setdefault(storage, set()).add(block_of(program.units[index].origin.module))
    for index in forward:
        unit = program.units[index]
        if unit.ordered:
            continue
        if isinstance(unit.node.target, Gather):
            yield from unit.makes if setting.reshard else ()
        elif setting.checkpoint and (block := block_of(unit.origin.module)) is not None:
            yield from (s for s in unit.makes if readers.get(s, set()) <= {block} and not program.storages[s].output)
