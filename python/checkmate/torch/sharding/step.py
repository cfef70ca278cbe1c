"""A training step whose parameters are sharded: its plan says when each is gathered, and how long it stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from checkmate.torch.guards import Guard
from checkmate.torch.options import Options
from checkmate.torch.pipeline import CompiledStep
from checkmate.torch.sharding.agreement import ShardGroup
from checkmate.torch.sharding.building import build_sharded
from checkmate.torch.sharding.collectives import Gather, Wire
from checkmate.torch.sharding.fully_sharded import padded_again, sharded
from checkmate.torch.sharding.measuring import measured_interconnect
from checkmate.torch.sharding.optimizer import ShardOptimizer
from checkmate.torch.sharding.shards import ShardedState, layout_of
from checkmate.torch.side_effects import run_gradient_hooks
from checkmate.torch.step import Step
from checkmate.torch.trace import LossFn


class ShardedStep(Step):
    """As :class:`checkmate.torch.Step`, on one of several ranks. Parameters and gradients are those of fully_shard: DTensors."""

    group: ShardGroup

    def __init__(self, model: torch.nn.Module, loss_fn: LossFn, example: Sequence[Any], options: Options) -> None:
        mesh = sharded(model, options)
        inner, outer = mesh.get_group(mesh.ndim - 1), mesh.get_group(0) if mesh.ndim > 1 else None
        self._mesh = mesh
        self._layout = layout_of(mesh)
        self._wire = Wire(inner, outer)
        self._shards: ShardedState | None = None
        self._batches: dict[Guard, int] = {}  # by which ranks tell each other what they have
        self._batch_count = 0
        super().__init__(model, loss_fn, example, options)

    @property
    def gathers(self) -> dict[str, int]:
        """How often a step gathers each parameter, for the latest batch."""
        compiled = self._latest
        runs = Counter(compiled.plan.steps)
        names = dict(zip(compiled.trace.inputs, compiled.trace.signature.parameters, strict=False))
        return {
            names[shard]: runs[index]
            for index, unit in enumerate(compiled.program.units)
            if isinstance(unit.node.target, Gather)
            for shard in unit.node.all_input_nodes
        }

    def _group_of(self, _model: torch.nn.Module, options: Options) -> ShardGroup:
        group = ShardGroup(self._mesh, options.network)
        self._network = options.network or measured_interconnect(self._wire, self._layout, group.in_lockstep)
        return group

    def _elsewhere(self, guard: Guard) -> tuple[int, ...]:
        """Which of their batches the ranks have: a plan is for one combination."""
        if self._shards is None or not self._shards.is_current():
            padded_again(self.model)
            self._shards = ShardedState(self.model, self._layout)
            self._batches.clear()
        if guard not in self._batches:
            self._batches[guard] = self._batch_count
            self._batch_count += 1
        return self.group.numbers(self._batches[guard])

    def _build(self, batch: Sequence[Any], options: Options, similar: CompiledStep | None) -> CompiledStep:
        assert self._shards is not None, "the step has told the others what it has"
        if options.optimizer is not None:
            options = replace(options, optimizer=ShardOptimizer(options.optimizer, self._shards))
        return build_sharded(
            self._shards, self.loss_fn, batch, options, self.group, self._wire, self._layout, self._network, similar
        )

    def _run(self, compiled: CompiledStep, batch: Sequence[Any]) -> Any:
        shards = self._shards
        assert shards is not None, "the step is prepared"
        shards.take_gradients()
        returned = compiled(shards, batch)
        made = [*compiled.trace.gradients, *compiled.trace.signature.accumulated]
        shards.hand_out_gradients(made)
        run_gradient_hooks(shards.real(name) for name in made)
        return returned
