"""What each unit of a program costs on the device that will run it: time, and memory in addition to its results.

Equal units (same ops, shapes, strides, types) are measured once, alone, on made-up values, and remembered on disk.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import fx
from torch.utils.flop_counter import flop_registry

from checkmate.torch.cost_cache import CostCache, UnitCost
from checkmate.torch.fx_utils import call, getitem, is_getitem, overload, tensors_of, value
from checkmate.torch.ir import Program, Unit
from checkmate.torch.memory import peaks_of_each

Progress = Callable[[int, int], None]


def measured_costs(
    program: Program, inputs: Sequence[torch.Tensor], cache: CostCache, progress: Progress | None = None
) -> list[UnitCost]:
    """Nanoseconds and workspace of each unit. `inputs` are values in the order of the step's signature."""
    values = dict(zip(program.trace.inputs, inputs, strict=True))
    keys = [signature(unit) for unit in program.units]
    missing = {key: unit for key, unit in zip(keys, program.units, strict=True) if key not in cache}
    measured: dict[str, UnitCost] = {}
    with torch.no_grad(), torch._C._DisableAutocast(), torch.random.fork_rng(_cuda_devices(program)):
        for done, (key, unit) in enumerate(missing.items()):
            if progress:
                progress(done, len(missing))
            measured[key] = _measure(program, unit, values)
    if progress and missing:
        progress(len(missing), len(missing))
    cache.add(measured)
    return [cache[key] for key in keys]


def estimated_costs(program: Program) -> list[UnitCost]:
    """Without measuring: floating-point operations, or what moving the unit's bytes is worth, if that is more."""
    return [UnitCost(max(_flops(unit), _FLOPS_PER_BYTE * _moved_bytes(program, unit))) for unit in program.units]


_FLOPS_PER_BYTE = 5  # roughly what a current processor does while it moves a byte


def signature(unit: Unit) -> str:
    """The same for two units that cost the same."""
    internal = {each.node: f"%{i}" for i, each in enumerate(unit.calls)}
    text = []
    for each in unit.calls:
        arguments = [_signature_of(a, internal) for a in each.node.args]
        named = [f"{k}={_signature_of(v, internal)}" for k, v in sorted(each.node.kwargs.items())]
        text.append(f"{each.target}/{each.written}({','.join(arguments + named)})")
    return hashlib.sha256(";".join(text).encode()).hexdigest()


def _signature_of(argument: Any, internal: dict[fx.Node, str]) -> str:
    if isinstance(argument, fx.Node):
        source, place = getitem(argument) if is_getitem(argument) else (argument, 0)
        if source in internal:
            return f"{internal[source]}[{place}]"
        return ",".join(f"{t.dtype}{list(t.shape)}{list(t.stride())}@{t.device}" for t in tensors_of(value(argument)))
    if isinstance(argument, (list, tuple)):
        return "[" + ",".join(_signature_of(a, internal) for a in argument) + "]"
    return repr(argument)


def _measure(program: Program, unit: Unit, values: dict[fx.Node, torch.Tensor]) -> UnitCost:
    run = _Alone(program, unit, values)
    device = program.trace.device
    run()
    seconds = _seconds_on_cuda(run, device) if device.type == "cuda" else _seconds(run)
    (peak,) = peaks_of_each([run], device)
    made = sum(program.storages[s].bytes for s in unit.makes)
    return UnitCost(max(1, round(seconds * 1e9)), max(0, peak - made))


def _seconds(run: Callable[[], Any]) -> float:
    """The lower quartile, after as many runs as make it steady, and no more than a third of a second needs.

    Whatever else the machine does makes a run longer, never shorter; and what is measured once is remembered.
    """
    times: list[float] = []
    begin = time.perf_counter()
    while True:
        started = time.perf_counter()
        run()
        finished = time.perf_counter()
        times.append(finished - started)
        if len(times) >= 3 and (finished - begin > 0.3 or len(times) >= 30):
            break
        if len(times) >= 5 and _spread(times) < 0.02:
            break
    return statistics.quantiles(times, n=4)[0]


def _spread(times: list[float]) -> float:
    quartiles = statistics.quantiles(times, n=4)
    return (quartiles[2] - quartiles[0]) / quartiles[1]


def _seconds_on_cuda(run: Callable[[], Any], device: torch.device) -> float:
    """Not tested on a machine with a GPU."""
    times = []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize(device)
        times.append(float(begin.elapsed_time(end)) / 1e3)
    return statistics.quantiles(times, n=4)[0]


class _Alone:
    """Runs a unit by itself on tensors like those that it will get. Resident ones are themselves: the ids in a batch are places
    in a table of the model. What writes into them gets copies.

    No closures that know themselves: those would keep the tensors until the next collection of garbage.
    """

    def __init__(self, program: Program, unit: Unit, values: dict[fx.Node, torch.Tensor]) -> None:
        if unit.writes_resident:
            values = {node: values[node].clone() for node in unit.node.all_input_nodes if node in values}
        self._program = program
        self._unit = unit
        self._inputs: dict[fx.Node, Any] = {}
        for each in unit.calls:
            for node in each.node.all_input_nodes:
                if program.storage_of[node] not in unit.makes:
                    self._input(node, values)

    def __call__(self) -> None:
        known = dict(self._inputs)
        for each in self._unit.calls:
            known[each.node] = call(each.target, each.arguments, each.node.kwargs, partial(self._look_up, known))

    def _input(self, node: fx.Node, values: dict[fx.Node, torch.Tensor]) -> Any:
        if node not in self._inputs:
            if node in values:
                self._inputs[node] = values[node]
            elif self._program.storages[self._program.storage_of[node]].unit is None:  # a view of a resident one
                self._inputs[node] = call(node.target, node.args, node.kwargs, partial(self._input, values=values))
            else:
                self._inputs[node] = _made_up(value(node))
        return self._inputs[node]

    def _look_up(self, known: dict[fx.Node, Any], node: fx.Node) -> Any:
        if node not in known:  # a view, or one of several results, of what the unit made itself
            known[node] = call(node.target, node.args, node.kwargs, partial(self._look_up, known))
        return known[node]


def _made_up(fake: Any) -> Any:
    """Between 0.1 and 1.1, since ops are slow on zeros of some kinds and fail on none of these; 0 for whole numbers,
    which may be places in a table."""
    if isinstance(fake, (tuple, list)):
        return [_made_up(f) for f in fake]
    extent = 1 + sum((size - 1) * stride for size, stride in zip(fake.shape, fake.stride(), strict=True)) if fake.numel() else 0
    flat = torch.zeros(extent, dtype=fake.dtype, device=fake.device)
    if flat.dtype.is_floating_point:
        flat.uniform_(0.1, 1.1)
    elif flat.dtype == torch.bool:
        flat.fill_(True)
    return flat.as_strided(fake.shape, fake.stride())


def _flops(unit: Unit) -> int:
    total = 0
    for each in unit.calls:
        op = overload(each.node)
        count = flop_registry.get(op.overloadpacket) if op else None
        if count is not None:
            total += int(call(partial(count, out_val=value(each.node)), each.node.args, each.node.kwargs, value))
    return total


def _moved_bytes(program: Program, unit: Unit) -> int:
    return sum(program.storages[s].bytes for s in [*unit.reads, *unit.makes])


def _cuda_devices(program: Program) -> list[torch.device]:
    return [program.trace.device] if program.trace.device.type == "cuda" else []
