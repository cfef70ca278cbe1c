"""Models as fully_shard (FSDP2) prepares them: their parameters are taken over, and their hooks stand aside."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard

from checkmate import Error
from checkmate.torch.errors import CaptureError
from checkmate.torch.options import Options
from checkmate.torch.sharding.optimizer import take_sharded_parameters


def sharded(model: torch.nn.Module, options: Options) -> DeviceMesh:
    """Shards the model over the process group or device mesh of the options, unless it is sharded already; returns the mesh."""
    over = options.shard
    _check_options(options)
    if over is not None and not isinstance(over, (DeviceMesh, dist.ProcessGroup)):
        raise Error(f"shard= takes a process group or a device mesh, got a {type(over).__name__}")
    if not any(isinstance(p, DTensor) for p in model.parameters()):
        _check_whole(model)
        whole = dict(model.named_parameters())
        fully_shard(model, mesh=_mesh_of(model, over))
        if options.optimizer is not None:
            parts = dict(model.named_parameters())
            take_sharded_parameters(options.optimizer.optimizer, {p: parts[name] for name, p in whole.items()})
    mesh = _taken_over(model)
    if over is not None and _mesh_of(model, over).mesh.tolist() != mesh.mesh.tolist():
        raise Error(
            f"the model is sharded over the ranks {mesh.mesh.tolist()} already, and shard= says "
            f"{_mesh_of(model, over).mesh.tolist()}: leave out shard=, or give it the model before fully_shard"
        )
    return mesh


def _check_options(options: Options) -> None:
    if options.process_group is not None:
        raise Error("a model is sharded (shard=) or whole on each rank (process_group=): pass one of the two")
    if options.plan is not None:
        raise Error("a sharded step cannot take plan=: the ranks find one together, which their cache remembers")
    if options.deliver == "backward":
        raise Error('a sharded step has reduced its gradients when it returns: leave out deliver="backward"')


def _mesh_of(model: torch.nn.Module, over: Any) -> DeviceMesh:
    if isinstance(over, DeviceMesh):
        return over
    device = next(model.parameters()).device.type
    return DeviceMesh.from_group(over, "cpu" if device == "meta" else device)


def _check_whole(model: torch.nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if parameter.dim() == 0:
            raise CaptureError(f"parameter {name} is a scalar, which has no rows to shard: give it the shape [1]")
        if not parameter.is_contiguous():
            raise CaptureError(f"parameter {name} is not contiguous, and so has no rows to shard: call .contiguous() on it")


def _taken_over(model: torch.nn.Module) -> DeviceMesh:
    """The mesh of all parameters; what a plan cannot take over is refused by name."""
    meshes: list[DeviceMesh] = []
    for name, parameter in model.named_parameters():
        if not isinstance(parameter, DTensor):
            if parameter.requires_grad:
                raise CaptureError(
                    f"parameter {name} is not sharded (ignored_params=), and its gradients would stay apart on each rank: "
                    "let fully_shard have it, or freeze it"
                )
            continue
        if tuple(parameter.placements) not in ((Shard(0),), (Replicate(), Shard(0))):
            raise CaptureError(
                f"parameter {name} is placed as {parameter.placements}: only shards by dimension 0 are supported, also over "
                "one dimension of a mesh of two"
            )
        meshes.append(parameter.device_mesh)
    if any(mesh != meshes[0] for mesh in meshes):
        raise CaptureError("parameters are sharded over different device meshes: shard all of them over the same one")
    for group in _groups(model):
        _check_group(group)
    return meshes[0]


def _groups(model: torch.nn.Module) -> Iterator[Any]:
    for module in model.modules():
        if isinstance(module, FSDPModule):
            yield from module._get_fsdp_state()._fsdp_param_groups


def _check_group(group: Any) -> None:
    policy = group.mp_policy
    where = ", ".join(sorted({p._module_info.param_name for p in group.fsdp_params}))
    if any(each is not None for each in (policy.param_dtype, policy.reduce_dtype, policy.output_dtype)):
        raise CaptureError(
            f"fully_shard has a mixed precision policy for {where}, which a plan does not follow: leave out mp_policy, and use "
            "torch.autocast in the loss function, or parameters of that type"
        )
    if type(group.offload_policy).__name__ != "OffloadPolicy":
        raise CaptureError(f"fully_shard offloads {where} to the CPU, which a plan does not do: leave out offload_policy")
    if not (group.reduce_grads and group.all_reduce_grads):
        raise CaptureError("set_requires_gradient_sync(False) is in force: a planned step reduces gradients each time")
    if group.gradient_divide_factor is not None or group._all_reduce_hook is not None:
        raise CaptureError("the gradients have a divide factor or a hook of their own: a planned step averages them")


def padded_again(model: torch.nn.Module) -> None:
    """Loading and moving may have replaced the memory of shards by one without padding."""
    for group in _groups(model):
        for parameter in group.fsdp_params:
            parameter.reset_sharded_param()


@contextlib.contextmanager
def without_hooks(model: torch.nn.Module) -> Iterator[None]:
    """Where whole parameters are in their places already, modules are called as before fully_shard."""
    removed = []
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key, hook in list(hooks.items()):
                if _is_of_fully_shard(hook):
                    removed.append((hooks, list(hooks.items())))
                    del hooks[key]
    try:
        yield
    finally:
        for hooks, items in reversed(removed):
            hooks.clear()
            hooks.update(items)


def _is_of_fully_shard(hook: Any) -> bool:
    return getattr(hook, "__module__", "").startswith("torch.distributed.fsdp._fully_shard")
