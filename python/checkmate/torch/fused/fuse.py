"""From a traced step to a program over fused kernels, at the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from checkmate.torch.distributed import Group
from checkmate.torch.fused.alternatives import choose
from checkmate.torch.fused.compiling import compile_kernels
from checkmate.torch.fused.inductor import compiler_is_there
from checkmate.torch.fused.step import Fusible
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options
from checkmate.torch.trace import Trace


@dataclass(frozen=True)
class Fused:
    """A program whose kernels are compiled."""

    program: Program
    options: Options  # with the budget in bytes
    refused: dict[str, str]  # groups of ops that run one by one, and why


def fuse(trace: Trace, finished: Callable[[Trace], Trace], options: Options, group: Group, identity: str) -> Fused | None:
    """All ranks of the group fuse the step in the same way. `identity` stands for the step; `finished` adds what comes after the
    backward pass. None without a compiler."""
    if not compiler_is_there():
        return None
    fusible = Fusible(trace)
    late, budget = group.agree(identity, lambda: choose(fusible, finished, options, identity))
    options = replace(options, budget=budget)
    program = lower(finished(fusible.fused(late)))
    refused = compile_kernels(program, options)
    if refused:
        program = lower(finished(fusible.fused(late, refused.keys())))
        compile_kernels(program, options)
    return Fused(program, options, refused)
