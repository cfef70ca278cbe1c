"""A program with costs as a graph for the solver."""

from __future__ import annotations

from collections.abc import Sequence, Set

from checkmate import Graph, Op, Tensor
from checkmate.tensorflow.capture import nbytes
from checkmate.tensorflow.costs import UnitCost, sizes
from checkmate.tensorflow.program import Program

_OWN_BYTES = 4096  # around a step: arguments, scalars, flags
_OWN = "blocks of TensorFlow's own"


def planning_graph(
    program: Program,
    costs: Sequence[UnitCost],
    name: str,
    *,
    cost_unit: str,
    order: str,
    reserved_bytes: int = 0,
    once: Set[int] = frozenset(),
    unexplained: int = 0,
) -> Graph:
    """Ops are the program's units, in order; tensors its storages, and after them what keeps units in order.

    `once` are units that must not be recomputed, in addition to those that cannot be; `unexplained` are bytes that a plan was
    seen to take, and that are no unit's.
    """
    tensors = [
        Tensor(storage.name, size, resident=storage.unit is None, output=storage.output)
        for storage, size in zip(program.storages, sizes(program, costs), strict=True)
    ]
    tensors.append(Tensor("constants", _constant_bytes(program), resident=True))
    tensors.append(Tensor(_OWN, _OWN_BYTES + unexplained, resident=True))
    ops = []
    turn: list[int] = []  # a tensor of no bytes hands on whose turn it is: what has an effect keeps its order
    for index, (unit, cost) in enumerate(zip(program.units, costs, strict=True)):
        reads, makes = unit.reads, unit.makes
        if unit.effect and order == "free":
            reads, turn = reads + turn, [len(tensors)]
            makes = makes + turn
            tensors.append(Tensor(f"{unit.name} done", 0))
        ops.append(
            Op(
                unit.name,
                cost.cost,
                inputs=reads,
                outputs=makes,
                kind="+".join(op.type for op in unit.ops),
                workspace=cost.workspace,
                phase=_phase(program, index),
                recomputable=not unit.effect and index not in once,
            )
        )
    return Graph(name, tensors, ops, cost_unit=cost_unit, reserved_bytes=reserved_bytes)


def held_bytes(graph: Graph) -> int:
    """What such a graph's fixed memory has that a run does not allocate: TensorFlow's own blocks are among what it does."""
    return graph.fixed_bytes - sum(tensor.bytes for tensor in graph.tensors if tensor.name == _OWN)


def _phase(program: Program, unit: int) -> str:
    op = program.units[unit].ops[0]
    if op.name.startswith("gradient_tape"):
        return "backward"
    if op.type.startswith(("Assign", "Resource")):
        return "update"
    return "forward"


def _constant_bytes(program: Program) -> int:
    return sum(nbytes(op.outputs[0]) or 0 for op in program.captured.ops if op.type == "Const")


def late_readers(program: Program, steps: Sequence[int]) -> set[int]:
    """Units that run again and read a variable's old value after the variable has a new one: both would be in memory."""
    written: set[int] = set()
    ran: set[int] = set()
    late = set()
    resident = {index for index, storage in enumerate(program.storages) if storage.unit is None}
    for step in steps:
        unit = program.units[step]
        if step in ran and written & set(unit.reads):
            late.add(step)
        ran.add(step)
        if unit.effect and unit.ops[0].type not in ("ReadVariableOp", "ResourceGather"):
            written |= resident & {s for t in unit.ops[0].inputs[:1] for s in program.storages_of[id(t)]}
    return late
