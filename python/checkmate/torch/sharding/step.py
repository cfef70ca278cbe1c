"""A training step whose parameters are sharded: its plan says when each is gathered, and how long it stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

import checkmate
from checkmate.torch.execution import Gradients
from checkmate.torch.guards import Guard
from checkmate.torch.options import Options
from checkmate.torch.pipeline import CompiledStep
from checkmate.torch.sharding.agreement import ShardGroup
from checkmate.torch.sharding.building import build_sharded
from checkmate.torch.sharding.collectives import Wire
from checkmate.torch.sharding.fully_sharded import padded_again, sharded
from checkmate.torch.sharding.shards import ShardedState, layout_of
from checkmate.torch.side_effects import run_gradient_hooks
from checkmate.torch.step import Step
from checkmate.torch.trace import LossFn

__all__ = ["ShardedStep"]


class ShardedStep(Step):
    """As :class:`checkmate.torch.Step`, on one of several ranks. Parameters and gradients are DTensors, as those of fully_shard."""

    def __init__(self, model: torch.nn.Module, loss_fn: LossFn, example: Sequence[Any], options: Options) -> None:
        self._mesh = sharded(model, options.shard)
        self._layout = layout_of(self._mesh)
        groups = self._mesh.get_all_groups()
        self._wire = Wire(groups[-1], groups[0] if len(groups) > 1 else None)
        self._shards: ShardedState | None = None
        self._known: dict[Guard, int] = {}
        super().__init__(model, loss_fn, example, options)

    def _group_of(self, _model: torch.nn.Module, _options: Options) -> ShardGroup:
        return ShardGroup(self._mesh)

    def _elsewhere(self, guard: Guard) -> tuple[int, ...]:
        """Which of their batches the ranks have: a plan is for one combination."""
        mine = self._known.setdefault(guard, len(self._known))
        return self.group.numbers(mine)  # type: ignore[attr-defined, no-any-return]

    def _build(self, batch: Sequence[Any], options: Options, similar: CompiledStep | None) -> CompiledStep:
        return build_sharded(self._current_shards(), self.loss_fn, batch, options, self.group, self._wire, self._layout, similar)

    def _run(self, compiled: CompiledStep, batch: Sequence[Any]) -> Any:
        shards = self._current_shards()
        shards.take_gradients()
        returned = compiled(shards, batch)
        made = [*compiled.trace.gradients, *compiled.trace.signature.accumulated]
        shards.hand_out_gradients(made)
        run_gradient_hooks(shards.real(name) for name in made)
        return returned

    def _current_shards(self) -> ShardedState:
        padded_again(self.model)
        return ShardedState(self.model, self._layout)
