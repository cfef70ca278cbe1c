"""What a plan takes where results lie in the memory of what is read for the last time."""

from __future__ import annotations

from typing import Any

from checkmate import Graph, Plan
from checkmate.tensorflow.costs import Sharing
from checkmate.tensorflow.program import Program, Unit


def peak_with_writes(program: Program, graph: Graph, plan: Plan, sharing: Sharing) -> int:
    """The peak of a plan, in bytes. The plan's own counts a result and what it is written over both.

    Whether an op writes over its input, TensorFlow decides when it runs: if nobody else will read it. A plan knows that too.
    """
    tensors = graph.tensors
    highest = 0
    for taken, unit, frees in zip(plan.memory, map(program.units.__getitem__, plan.steps), plan.frees, strict=True):
        writes = unit.ops[0].name in sharing.writers and len(unit.makes) == 1
        saved = _written_over(program, unit, set(frees), tensors[unit.makes[0]].bytes) if writes else 0
        highest = max(highest, taken - saved)
    return highest


def _written_over(program: Program, unit: Unit, freed: set[int], made: int) -> int:
    """Bytes of the result that need no memory of their own."""
    later = {id(tensor) for op in unit.ops[1:] for tensor in op.inputs}
    for tensor in unit.ops[0].inputs:
        owners = program.storages_of[id(tensor)]
        whole = len(owners) == 1 and owners[0] in freed and program.storages[owners[0]].bytes == made
        if whole and id(tensor) not in later and _same_form(tensor, unit.ops[0].outputs[0]):
            return made
    return 0


def _same_form(tensor: Any, result: Any) -> bool:
    return bool(tensor.shape == result.shape and tensor.dtype.size == result.dtype.size)
