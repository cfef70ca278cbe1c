"""From a model to the planned step of one rank: capture the whole step, put its collectives in, cost, plan."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

import checkmate
from checkmate.torch.guards import flatten_batch
from checkmate.torch.optimizer import with_updates
from checkmate.torch.options import Options
from checkmate.torch.pipeline import CompiledStep, execution_of, plan_captured
from checkmate.torch.sharding.agreement import ShardGroup
from checkmate.torch.sharding.buckets import buckets_of
from checkmate.torch.sharding.collectives import Wire
from checkmate.torch.sharding.fully_sharded import without_hooks
from checkmate.torch.sharding.gathers import with_collectives
from checkmate.torch.sharding.interconnect import Interconnect
from checkmate.torch.sharding.placement import Layout
from checkmate.torch.sharding.prefetch import with_overlap, without_overlap
from checkmate.torch.sharding.shards import ShardedState, WholeState
from checkmate.torch.trace import LossFn, Trace, trace_step


def build_sharded(
    shards: ShardedState,
    loss_fn: LossFn,
    batch: Sequence[Any],
    options: Options,
    group: ShardGroup,
    wire: Wire,
    layout: Layout,
    network: Interconnect,
    similar: CompiledStep | None,
) -> CompiledStep:
    """The planned step of this rank. Every rank gets the same plan, or the same sentence that says why not.

    Small parameters share messages where that is cheaper on such a network.
    """
    begin = time.perf_counter()
    same_for_all, of_batch = _facts(shards, options), _facts_of(batch)
    if similar is None:
        same_for_all |= of_batch
    group.compare(same_for_all)
    trace = group.attempt(lambda: _captured(shards, loss_fn, batch))
    capture_seconds = time.perf_counter() - begin
    shards.take_gradients()
    accumulated = {name: shards.gradient(name) for name in shards.names_with_gradient() if name in trace.gradients}

    def finished(trace: Trace) -> Trace:
        buckets = buckets_of(trace, shards.sharded_names, layout, network)
        local = with_collectives(trace, layout, wire, shards.sharded_names, buckets, accumulated)
        return with_updates(local, shards, options.optimizer) if options.optimizer else local

    inputs = [*trace.signature.values(shards, batch), *accumulated.values()]
    name = type(shards.model).__name__.removeprefix("FSDP")
    found = plan_captured(trace, inputs, name, options, group, finished, similar.plan if similar else None)
    overlaps = group.same_sizes
    found = with_overlap(found, options, group.in_lockstep) if overlaps else without_overlap(found, options)
    timings = replace(found.timings, capture=capture_seconds)
    execution = execution_of(found.program, found.plan, found.addresses, found.room)
    return CompiledStep(found.program, found.graph, found.plan, timings, found.costs, execution, found.refused)


def _captured(shards: ShardedState, loss_fn: LossFn, batch: Sequence[Any]) -> Trace:
    with without_hooks(shards.model):
        return trace_step(WholeState(shards.model), loss_fn, batch)


def _facts_of(batch: Sequence[Any]) -> dict[str, str]:
    leaves, spec = flatten_batch(batch)
    shapes = [(list(leaf.shape), str(leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    return {"batch": str(shapes) if len(str(shapes)) < 200 else _digest((shapes, str(spec)))}


def _facts(shards: ShardedState, options: Options) -> dict[str, str]:
    """What must be the same on all ranks, by what to call it."""
    whole = [(name, list(shards.real(name).shape), str(shards.real(name).dtype)) for name in shards.parameter_names]
    chosen = (options.reserve, options.kernels, options.costs, options.order, options.optimizer is not None)
    return {
        "version of torch": torch.__version__,
        "version of Checkmate": checkmate.__version__,
        "model": f"{type(shards.model).__name__.removeprefix('FSDP')} with parameters {_digest(whole)}",
        "budget": str(options.budget),
        "set of options": str(chosen),
        "state": f"gradients to add to {_digest(shards.names_with_gradient())}",
    }


def _digest(described: object) -> str:
    return hashlib.sha256(repr(described).encode()).hexdigest()[:12]
