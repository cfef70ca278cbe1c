"""What fills the peak of a step: fixed memory, results that stay to its end, and what a plan may drop."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, repeat
from typing import cast

from checkmate import Plan
from checkmate.torch.fx_utils import nodes_in
from checkmate.torch.ir import Program
from checkmate.torch.trace import Trace

_PURPOSES = (
    "parameters",
    "buffers",
    "batch",
    "constants",
    "gradients of earlier steps",
    "gradients",
    "other results",
    "activations",
    "backward pass",
)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the memory at the peak."""

    name: str
    bytes: int
    tensors: int
    """How many these are; 0 for memory that no tensor stands for."""


def parts_at_peak(program: Program, plan: Plan) -> list[Part]:
    """All that is in memory at the peak, by purpose. The bytes add up to the peak, as long as no op has workspace."""
    purposes = _resident_purposes(program)
    gradients = {program.storage_of[node] for node in nodes_in(list(program.trace.gradients.values()))}
    for tensor in _at_peak(program, plan):
        storage = program.storages[tensor]
        if storage.output:
            purposes[tensor] = "gradients" if tensor in gradients else "other results"
        else:
            purposes[tensor] = "activations" if _phase(program, tensor) == "forward" else "backward pass"
    reserved = plan.graph.reserved_bytes
    parts = sorted(_parts(plan, purposes.items()), key=lambda part: _PURPOSES.index(part.name))
    return [*parts, *([Part("reserve", reserved, 0)] if reserved else [])]


def largest_at_peak(program: Program, plan: Plan) -> list[Part]:
    """What a plan may drop of it, by module and op, the largest first. Modules that differ by a number, as the layers of a
    network do, are one."""
    ops = plan.graph.ops
    named = []
    for tensor in _at_peak(program, plan):
        storage = program.storages[tensor]
        if storage.unit is not None and not storage.output:
            module = re.sub(r"(?<![^.])\d+(?![^.])", "*", program.units[storage.unit].origin.module)
            where = module or f"the {_phase(program, tensor)} pass"
            named.append((tensor, f"{where}: {ops[storage.unit].kind}"))
    return sorted(_parts(plan, named), key=lambda part: -part.bytes)


def _resident_purposes(program: Program) -> dict[int, str]:
    """Of each storage that the step is given, in the order of its signature."""
    trace = cast(Trace, program.trace)
    signature = trace.signature
    owned = len(signature.model_inputs)
    others = len(signature.constants) + len(signature.accumulated)
    counts = (
        len(signature.parameters),
        len(signature.buffers),
        len(trace.inputs) - owned - others,
        len(signature.constants),
        len(signature.accumulated),
    )
    purposes: dict[int, str] = {}
    for node, purpose in zip(trace.inputs, chain(*map(repeat, _PURPOSES, counts)), strict=True):
        purposes.setdefault(program.storage_of[node], purpose)
    return purposes


def _at_peak(program: Program, plan: Plan) -> list[int]:
    """The storages that units made. The other tensors of the graph, which keep units in order, have no bytes."""
    return [tensor for tensor in plan.at_peak[1] if tensor < len(program.storages)]


def _phase(program: Program, storage: int) -> str:
    unit = program.storages[storage].unit
    assert unit is not None, "asked of what units make"
    return program.units[unit].origin.phase


def _parts(plan: Plan, named: Iterable[tuple[int, str]]) -> list[Part]:
    """One for each name, in the order in which they first come."""
    sizes = [tensor.bytes for tensor in plan.graph.tensors]
    members: dict[str, list[int]] = {}
    for tensor, name in named:
        members.setdefault(name, []).append(sizes[tensor])
    return [Part(name, sum(each), len(each)) for name, each in members.items() if any(each)]
