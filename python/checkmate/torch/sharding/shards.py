"""A model's shards on this rank, as plain tensors: what a planned step reads, and where it leaves its gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from checkmate.torch.guards import ModelState
from checkmate.torch.sharding.placement import Layout


def layout_of(mesh: DeviceMesh) -> Layout:
    """That of parameters that are sharded over the last dimension of a mesh."""
    last = mesh.ndim - 1
    return Layout(mesh.size(last), mesh.get_local_rank(last), mesh.size() // mesh.size(last))


class WholeState(ModelState):
    """The model as if nobody had sharded it: whole parameters without values, to capture a step with."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__(model)
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._wholes = [_whole(p, mode) for p in super().parameters()]

    def parameters(self) -> list[torch.nn.Parameter]:
        """Whole ones."""
        return self._wholes

    def names_with_gradient(self) -> list[str]:
        """None: what is added to is a shard."""
        return []


def _whole(parameter: torch.nn.Parameter, mode: FakeTensorMode) -> torch.nn.Parameter:
    if not isinstance(parameter, DTensor):
        return parameter
    with mode:
        whole = torch.empty_strided(
            parameter.shape, parameter.stride(), dtype=parameter.dtype, device=parameter.to_local().device
        )
        return whole.requires_grad_(parameter.requires_grad)  # type: ignore[return-value]


class ShardedState(ModelState):
    """The shards of this rank in the place of the parameters: plain tensors over the same memory."""

    def __init__(self, model: torch.nn.Module, layout: Layout) -> None:
        super().__init__(model)
        self._layout = layout
        self._real = dict(zip(self.parameter_names, super().parameters(), strict=True))
        self._stand_ins = {name: _stand_in(parameter) for name, parameter in self._real.items()}

    @property
    def sharded_names(self) -> list[str]:
        """The parameters that are sharded."""
        return [name for name, parameter in self._real.items() if isinstance(parameter, DTensor)]

    def is_current(self) -> bool:
        """Whether the model has its parameters still where they were."""
        return all(
            table[key] is self._real[name] and _local(table[key]).data_ptr() == self._stand_ins[name].data_ptr()
            for name, (table, key) in self._parameters.items()
        )

    def real(self, name: str) -> torch.nn.Parameter:
        """The parameter as the model has it."""
        return self._real[name]

    def parameters(self) -> list[torch.nn.Parameter]:
        """With the padding."""
        return [self._padded(name) for name in self._real]  # type: ignore[misc]

    def parameter(self, name: str) -> torch.nn.Parameter:
        """Without the padding: it has the gradient of the shard while the step runs."""
        return self._stand_ins[name]

    def tensor(self, name: str) -> torch.Tensor:
        """The shard, or the buffer."""
        return self._stand_ins[name] if name in self._stand_ins else self.buffer(name)

    def take_gradients(self) -> None:
        """Those that the model has, before a step."""
        for name, stand_in in self._stand_ins.items():
            gradient = self._real[name].grad
            stand_in.grad = None if gradient is None else _local(gradient)

    def hand_out_gradients(self, names: Sequence[str]) -> None:
        """To the model, after a step that made these."""
        for name in names:
            self._real[name].grad = self.distributed(name, self._stand_ins[name].grad)
        for stand_in in self._stand_ins.values():
            stand_in.grad = None

    def distributed(self, name: str, shard: torch.Tensor | None) -> torch.Tensor | None:
        """What is a shard here, of a tensor that is placed as the parameter is."""
        real = self._real[name]
        if shard is None or not isinstance(real, DTensor):
            return shard
        return DTensor(shard, real._spec, requires_grad=False)  # type: ignore[no-untyped-call]

    def _padded(self, name: str) -> torch.Tensor:
        real = self._real[name]
        local = self._stand_ins[name].detach()
        if not isinstance(real, DTensor) or self._layout.is_even(real.shape):
            return local
        size = self._layout.padded_shard(real.shape)
        return local.as_strided(size, torch._prims_common.make_contiguous_strides_for(size))


def _local(parameter: torch.Tensor) -> torch.Tensor:
    return parameter._local_tensor if isinstance(parameter, DTensor) else parameter


def _stand_in(parameter: torch.nn.Parameter) -> torch.nn.Parameter:
    if not isinstance(parameter, DTensor):
        return parameter
    return torch.nn.Parameter(_local(parameter).detach(), requires_grad=parameter.requires_grad)
