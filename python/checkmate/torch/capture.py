"""A training step as a graph with costs, for whoever plans it otherwise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from checkmate import Graph, _core
from checkmate.frontend.machine import trim_heap
from checkmate.progress import ProgressOption
from checkmate.torch.checks import checked_batch
from checkmate.torch.distributed import Group
from checkmate.torch.guards import Guard, ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options
from checkmate.torch.pipeline import check_processor, unit_costs
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.trace import LossFn, Trace, trace_step


def capture(
    model: torch.nn.Module,
    loss_fn: LossFn,
    example: Sequence[Any],
    *,
    costs: str = "measured",
    reserve: str | int = 0,
    order: str = _core.default_order,
    cache: str | os.PathLike[str] | None = None,
    progress: ProgressOption = None,
) -> Graph:
    """A training step of the model as the graph that :func:`compile` plans, without planning it.

    Its ops are those of the forward pass, the loss and the backward pass, with costs and workspace; its tensors are the storages
    between them, and what is resident. ``graph.save(path)`` writes it for the command line and other programs.

    ``costs="measured"`` runs the step a few times, without recomputation, so it must fit. ``costs="flops"`` estimates: nothing
    runs, workspace is not known, and the model may be on the ``meta`` device. The other arguments are those of :func:`compile`.
    """
    options = Options(
        budget=None,
        reserve=reserve,
        costs=costs,
        order=order,
        cache=None if cache is None else Path(cache),
        progress=progress,
    )
    state, program, inputs = captured(model, loss_fn, example, values=costs == "measured")
    if costs == "measured":
        check_processor(program)
    found = unit_costs(program, inputs, options)
    trim_heap()  # measuring took more than the graph does
    unit = "flop" if costs == "flops" else "ns"
    name = type(state.model).__name__
    return planning_graph(program, found, name, cost_unit=unit, order=order, reserved_bytes=options.reserved_bytes)


def captured(
    model: torch.nn.Module, loss_fn: LossFn, example: Sequence[Any], *, values: bool
) -> tuple[ModelState, Program, Sequence[torch.Tensor]]:
    """The step's program, and the inputs to run it on. Without `values`, tensors may have none."""
    state, trace = traced(model, loss_fn, example, values=values)
    return state, lower(trace), trace.signature.values(state, checked_batch(example))


def traced(model: torch.nn.Module, loss_fn: LossFn, example: Sequence[Any], *, values: bool) -> tuple[ModelState, Trace]:
    """The step's graph. Without `values`, tensors may have none."""
    batch = checked_batch(example)
    state = ModelState(Group.module(model))
    Guard.of(state, batch)  # refuses what no step can take
    return state, trace_step(state, loss_fn, batch, values=values)
