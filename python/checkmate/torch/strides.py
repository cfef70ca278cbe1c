"""Fake tensors in the layouts that kernels for CPUs give to their results.

torch's shape rules are right about shapes, and for some ops not about strides. A wrong stride has an op write into the wrong one
of its arguments, and what comes after reads memory in another order and rounds otherwise than eager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

aten = torch.ops.aten

Strides = Callable[..., tuple[int, ...]]


def _contiguous(result: torch.Tensor, *_: Any) -> tuple[int, ...]:
    return torch._prims_common.make_contiguous_strides_for(result.shape)


def _of_first(_: torch.Tensor, *arguments: Any) -> tuple[int, ...]:
    return torch.empty_like(arguments[0]).stride()


def _of_sum(first: int, second: int) -> Strides:
    """As of the sum of those two arguments, through which the kernel goes element by element."""

    def strides(_: torch.Tensor, *arguments: Any) -> tuple[int, ...]:
        return torch.add(arguments[first], arguments[second]).stride()

    return strides


def _in_format_of(position: int) -> Strides:
    """Contiguous, or with channels last if that argument is."""

    def strides(result: torch.Tensor, *arguments: Any) -> tuple[int, ...]:
        memory_format = torch._prims_common.suggest_memory_format(arguments[position])
        return torch.empty_like(result, memory_format=memory_format).stride()

    return strides


STRIDES: dict[Any, Strides] = {
    **dict.fromkeys(
        (
            aten._log_softmax_backward_data.default,
            aten.huber_loss_backward.default,
            aten.log_sigmoid_forward.default,
            aten.mse_loss_backward.default,
            aten.native_layer_norm_backward.default,
            aten.normal.Tensor_Tensor,
            aten.pow.Scalar,
            aten.rrelu_with_noise.default,
            aten.smooth_l1_loss_backward.default,
        ),
        _contiguous,
    ),
    **dict.fromkeys(
        (
            aten.hardsigmoid_backward.default,
            aten.hardswish_backward.default,
            aten.hardtanh_backward.default,
            aten.logit_backward.default,
            aten.softplus_backward.default,
            aten.special_xlog1py.default,
            aten.xlogy.Tensor,
        ),
        _of_sum(0, 1),
    ),
    aten.binary_cross_entropy.default: _of_first,
    aten.elu_backward.default: _of_sum(0, 5),
    **dict.fromkeys((aten.leaky_relu_backward.default, aten.threshold_backward.default), _of_sum(1, 0)),
    **dict.fromkeys(
        (
            aten._native_batch_norm_legit.default,
            aten._native_batch_norm_legit_functional.default,
            aten._native_batch_norm_legit.no_stats,
            aten.channel_shuffle.default,
            aten.max_unpool2d.default,
            aten.native_batch_norm.default,
            aten.reflection_pad3d.default,
            aten.replication_pad3d.default,
        ),
        _in_format_of(0),
    ),
    **dict.fromkeys(
        (
            aten.native_batch_norm_backward.default,
            aten.reflection_pad2d_backward.default,
            aten.reflection_pad3d_backward.default,
            aten.replication_pad2d_backward.default,
            aten.replication_pad3d_backward.default,
        ),
        _in_format_of(1),
    ),
}


class EagerLayouts(FakeTensorMode):  # type: ignore[no-untyped-call]
    """A mode whose fake tensors have the strides of real ones."""

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """As torch has it, but for the strides."""
        if func is aten.native_group_norm_backward.default:
            with self:
                return _group_norm_gradients(*args)
        result: Any = super().dispatch(func, types, args, kwargs)
        strides = STRIDES.get(func)
        if strides is None:
            return result
        with self:
            if isinstance(result, torch.Tensor):
                return _laid_out(result, strides, args)
            return tuple(_laid_out(each, strides, args) for each in result)


def _group_norm_gradients(gradient: torch.Tensor, x: torch.Tensor, *arguments: Any) -> tuple[torch.Tensor | None, ...]:
    """torch's rule goes through views that not all layouts have."""
    channels, (of_input, of_weight, of_bias) = arguments[4], arguments[-1]
    return (
        torch.empty_like(x, memory_format=torch._prims_common.suggest_memory_format(x)) if of_input else None,
        gradient.new_empty(channels) if of_weight else None,
        gradient.new_empty(channels) if of_bias else None,
    )


def _laid_out(tensor: torch.Tensor | None, strides: Strides, arguments: Any) -> torch.Tensor | None:
    if tensor is None or tensor.dim() < 2:  # statistics, gradients of weights, or a loss that is reduced
        return tensor
    return torch.empty_strided(tensor.shape, strides(tensor, *arguments), dtype=tensor.dtype, device=tensor.device)
