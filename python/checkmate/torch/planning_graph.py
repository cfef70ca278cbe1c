"""A program with costs as a graph for the solver."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set

from checkmate import Graph, Op, Tensor
from checkmate.torch.costs import UnitCost
from checkmate.torch.fused.kernels import NOT_FUSED, FusedKernel
from checkmate.torch.ir import Call, Program, Storage, Unit
from checkmate.torch.pause import Apart, Pause


def planning_graph(
    program: Program,
    costs: Sequence[UnitCost],
    name: str,
    cost_unit: str,
    order: str,
    reserved_bytes: int = 0,
    once: Set[int] = frozenset(),
) -> Graph:
    """Ops are the program's units, in order; tensors its storages, and after them what keeps units in order.

    `once` are units that must not be recomputed, in addition to those that cannot be.
    """
    sizes = [storage.bytes for storage in program.storages]
    for unit, cost in zip(program.units, costs, strict=True):
        for storage, made in zip(unit.makes, cost.made, strict=False):
            sizes[storage] = made
    tensors = [
        Tensor(_tensor_name(program, storage), size, resident=storage.unit is None, output=storage.output)
        for storage, size in zip(program.storages, sizes, strict=True)
    ]
    tensors += [Tensor(what, size, resident=True) for what, size in program.trace.held.items() if size]
    ops = []
    # A tensor of no bytes hands on whose turn it is: what runs once keeps its order, also where the order is free. In a free
    # order random units run once: the state of the generator at their first run must be that of the given order.
    turn: list[int] = []
    for index, (unit, cost) in enumerate(zip(program.units, costs, strict=True)):
        reads, makes = unit.reads, unit.makes
        pauses = isinstance(unit.node.target, Pause)
        runs_once = unit.effect or (unit.random and order == "free")
        if runs_once:
            reads, turn = reads + turn, [len(tensors)]
            makes = makes + turn
            tensors.append(Tensor(f"{unit.node.name} done", 0))
        ops.append(
            Op(
                _name(unit),
                0 if pauses else cost.cost,
                inputs=reads,
                outputs=makes,
                kind=_kind(unit),
                workspace=program.trace.pause_bytes if pauses else cost.workspace,
                phase=unit.origin.phase,
                recomputable=not runs_once and index not in once,
            )
        )
    return Graph(name, tensors, ops, cost_unit=cost_unit, reserved_bytes=reserved_bytes)


def fingerprint(program: Program, *, sizes: bool = True) -> str:
    """The same for two programs that can run the same plans; without `sizes`, also for batches of other lengths."""
    units = [
        ([str(call.target) for call in unit.calls], unit.reads, unit.makes, unit.effect, unit.random) for unit in program.units
    ]
    storages = [(sizes and storage.bytes, storage.output) for storage in program.storages if storage.unit is not None]
    return hashlib.sha256(repr((units, storages)).encode()).hexdigest()


def _name(unit: Unit) -> str:
    return _inside(unit, " + ".join(call.node.name for call in unit.calls))


def _tensor_name(program: Program, storage: Storage) -> str:
    return storage.name if storage.unit is None else _inside(program.units[storage.unit], storage.name)


def _inside(unit: Unit, name: str) -> str:
    """With the module that it belongs to."""
    module = unit.origin.module
    return f"{module}: {name}" if module else name


def _kind(unit: Unit) -> str:
    return "+".join(map(_kind_of, unit.calls))


def _kind_of(call: Call) -> str:
    if isinstance(call.target, FusedKernel):
        return call.target.kind
    if isinstance(call.target, Apart):
        return call.target.__name__
    name = str(call.target).removeprefix("aten.").partition(".")[0]
    return f"{name}, not fused" if NOT_FUSED in call.node.meta else name
