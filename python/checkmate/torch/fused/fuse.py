"""From a traced step to a program over fused kernels, at the budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from checkmate.torch.captured import Captured
from checkmate.torch.distributed import Group
from checkmate.torch.fused.alternatives import choose, is_given_plan_for
from checkmate.torch.fused.compiling import compile_kernels
from checkmate.torch.fused.grouping import Late
from checkmate.torch.fused.inductor import compiler_is_there
from checkmate.torch.fused.step import Fusible
from checkmate.torch.ir import Program
from checkmate.torch.library_shims import grouped_mm_of_any_type
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options


@dataclass(frozen=True)
class Fused:
    """A program whose kernels are compiled."""

    program: Program
    spared_bytes: int  # by which another way to fuse the step takes less without recomputation
    refused: dict[str, str]  # groups of ops that run one by one, and why


def fuse(
    trace: Captured, finished: Callable[[Captured], Captured], options: Options, group: Group, identity: str
) -> Fused | None:
    """All ranks of the group fuse the step in the same way. `identity` stands for the step; `finished` adds what comes after the
    backward pass. None, with a warning, where that is not possible."""
    if not compiler_is_there():
        return None
    with grouped_mm_of_any_type():
        return _fused(trace, finished, options, group, identity)


def _fused(
    trace: Captured, finished: Callable[[Captured], Captured], options: Options, group: Group, identity: str
) -> Fused | None:
    try:
        fusible = Fusible(trace)
    except Exception as error:  # one of torch's rules, each of which is its own world
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(f'the step cannot be fused ({type(error).__name__}: {reason}): kernels="aten" is taken', stacklevel=2)
        return None
    ways = group.agree(identity, lambda: choose(fusible, finished, options, identity))
    for late, spared in ways:
        program, refused = _compiled(fusible, late, finished, options)
        fused = Fused(program, spared, refused)
        if is_given_plan_for(options, program):
            break
    return fused


def _compiled(
    fusible: Fusible, late: Late, finished: Callable[[Captured], Captured], options: Options
) -> tuple[Program, dict[str, str]]:
    """The program, with the groups that Inductor refuses op by op, and why it does."""
    program = lower(finished(fusible.fused(late)))
    refused = compile_kernels(program, options)
    if refused:
        program = lower(finished(fusible.fused(late, refused.keys())))
        compile_kernels(program, options)
    return program, refused
