"""An optimizer that updates shards within the step, with its own code and on plain tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch.distributed.tensor import DTensor

from checkmate import Error
from checkmate.torch.optimizer import Saved, StepOptimizer
from checkmate.torch.sharding.shards import ShardedState


class ShardOptimizer(StepOptimizer):
    """Updates the shards of a rank. The state that it leaves in the optimizer is sharded as the parameters are."""

    def __init__(self, whole: StepOptimizer, shards: ShardedState) -> None:
        super().__init__(whole.optimizer, whole.clip_value)
        self._names = {id(shards.parameter(name)): name for name in shards.parameter_names}
        self._shards = shards

    def __contains__(self, parameter: torch.Tensor) -> bool:
        return super().__contains__(self._real(parameter))

    def prepare(self, parameters: Iterable[torch.nn.Parameter]) -> int:
        """As of whole parameters."""
        total = 0
        for parameter in parameters:
            with self._local_state(parameter):
                total += super().prepare([parameter])
        return total

    def update(self, parameter: torch.nn.Parameter, gradient: torch.Tensor) -> None:
        """Of this shard alone."""
        with self._local_state(parameter):
            super().update(parameter, gradient)

    def backup(self, parameter: torch.nn.Parameter) -> Saved:
        """What an update changes, as it is now."""
        with self._local_state(parameter):
            return super().backup(parameter)

    def restore(self, parameter: torch.nn.Parameter, saved: Saved) -> None:
        """Puts back what backup() returned."""
        with self._local_state(parameter):
            super().restore(parameter, saved)

    @contextlib.contextmanager
    def _local_state(self, shard: torch.nn.Parameter) -> Iterator[None]:
        """The optimizer knows the shard in the place of the parameter, and its state as plain tensors over the same memory."""
        real, states = self._real(shard), self.optimizer.state
        if real is shard:
            yield
            return
        before = states.pop(real, {})
        states[shard] = {key: _local(each) for key, each in before.items()}
        try:
            yield
        finally:
            after = states.pop(shard, {})
            if after:
                states[real] = {key: self._distributed(shard, each, before.get(key)) for key, each in after.items()}

    def _distributed(self, shard: torch.Tensor, state: object, before: object) -> object:
        if isinstance(before, DTensor) and before._local_tensor is state:
            return before
        if not isinstance(state, torch.Tensor) or state.shape != shard.shape or state.dim() == 0:
            return state
        return self._shards.distributed(self._names[id(shard)], state)

    def _group(self, parameter: torch.nn.Parameter) -> dict[str, object]:
        return {**super()._group(self._real(parameter)), "params": [parameter]}

    def _real(self, parameter: torch.Tensor) -> torch.nn.Parameter:
        name = self._names.get(id(parameter))
        return parameter if name is None else self._shards.real(name)  # type: ignore[return-value]


def _local(state: object) -> object:
    return state._local_tensor if isinstance(state, DTensor) else state


def take_sharded_parameters(optimizer: torch.optim.Optimizer, sharded: Mapping[torch.nn.Parameter, torch.nn.Parameter]) -> None:
    """In the place of the whole ones with which the optimizer was made."""
    if any(parameter in sharded for parameter in optimizer.state):
        raise Error(
            "the optimizer has made steps with whole parameters: make a new one, or shard the model before its first step"
        )
    for group in optimizer.param_groups:
        group["params"] = [sharded.get(parameter, parameter) for parameter in group["params"]]
