"""What torch and transformers do otherwise than eager while a step is traced, put right for that time."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch._library.custom_ops import OPDEFS, CustomOpDef
from torch._ops import OpOverload


@contextlib.contextmanager
def as_in_eager(value_is_known: Callable[[torch.Tensor], bool]) -> Iterator[None]:
    """Within it, models take the path that they take in eager, as far as values are known."""
    with contextlib.ExitStack() as shims:
        if masking := sys.modules.get("transformers.masking_utils"):
            shims.enter_context(_known_masks(masking, value_is_known))
        shims.enter_context(grouped_mm_of_any_type())
        yield


@contextlib.contextmanager
def _known_masks(masking: Any, value_is_known: Callable[[torch.Tensor], bool]) -> Iterator[None]:
    """transformers gives up the fast path of attention where a fake tensor has a part in the mask, even if its values are the
    same for every batch."""
    is_tracing = masking.is_tracing

    def really(tensor: Any = None) -> bool:
        if isinstance(tensor, torch.Tensor) and value_is_known(tensor):
            return False
        return bool(is_tracing(tensor))

    with mock.patch.object(masking, "is_tracing", really):
        yield


@contextlib.contextmanager
def grouped_mm_of_any_type() -> Iterator[None]:
    """The fake kernel wants 16-bit numbers, as those for GPUs do; the one for CPUs takes any."""
    registrations = torch._meta_registrations
    strict = registrations._meta_grouped_mm_common

    def lenient(a: torch.Tensor, b: torch.Tensor, scale_a: Any, scale_b: Any, offs: Any = None, *rest: Any, **named: Any) -> Any:
        if scale_a is not None or a.dtype == torch.bfloat16:
            return strict(a, b, scale_a, scale_b, offs, *rest, **named)
        groups = [offs.shape[0]] if a.dim() == b.dim() == 2 else [a.shape[0]] if a.dim() == b.dim() == 3 else []
        shape = [*groups, a.shape[-2], b.shape[-1]]
        row = -(-shape[-1] * a.element_size() // 16) * 16 // a.element_size()  # rows are multiples of 16 bytes
        strides = [shape[1] * row, row, 1][-len(shape) :]
        return torch.empty_strided(shape, strides, dtype=a.dtype, device=a.device)

    with mock.patch.object(registrations, "_meta_grouped_mm_common", lenient):
        yield


_EXPERTS = "transformers::grouped_mm_fallback"


@contextlib.contextmanager
def experts_as_ops() -> Iterator[None]:
    """Under Dynamo, transformers' experts are an op whose backward pass asks how many tokens each expert has. Within this, that
    pass is an op as well, which asks when it runs."""
    experts = OPDEFS.get(_EXPERTS)
    if experts is None:
        yield
        return

    op = _experts_backward(experts)

    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        return (*op(*ctx.saved_tensors, ctx.offs, gradient), None)

    with mock.patch.object(experts, "_backward_fn", backward):
        yield


@functools.cache
def _experts_backward(experts: CustomOpDef) -> CustomOpDef:
    """The library's own backward pass, as an op."""
    of_library = experts._backward_fn
    assert of_library is not None, "the library registers it with the op"

    def run(tokens: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(of_library(SimpleNamespace(saved_tensors=(tokens, weight), offs=offs), gradient)[:2])

    op = torch.library.custom_op(
        "checkmate::experts_backward",
        run,
        mutates_args=(),
        schema="(Tensor tokens, Tensor weight, Tensor offs, Tensor gradient) -> (Tensor, Tensor)",
    )
    op.register_fake(lambda tokens, weight, _offs, _gradient: (torch.empty_like(tokens), torch.empty_like(weight)))
    return op


_TAKING_APART = (torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd)
_TAKEN_APART = ("_upsample", "dropout", "gru", "lstm", "matmul", "rnn_", "upsample")  # beginnings of their names


@contextlib.contextmanager
def eager_composites() -> Iterator[None]:
    """AOTAutograd takes some ops apart by Python code of torch's, such as dropout, products of matrices and recurrent layers:
    into other ops than eager's, which round otherwise. Without that code, it takes eager's."""
    removed = [(op, key, op.py_kernels.pop(key)) for op in _ops_of_aten() for key in _TAKING_APART if key in op.py_kernels]
    for op, key, _ in removed:
        if op is torch.ops.aten.dropout.default:
            op.py_kernels[key] = _dropout
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, key, kernel in removed:
            op.py_kernels[key] = kernel
            op._dispatch_cache.clear()


def _dropout(x: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """Eager's, which draws into a tensor in the order of its memory. AOTAutograd would draw into a new one, in the order of
    its indices."""
    if not train or p == 0 or x.numel() == 0:
        return x
    if p == 1:
        return x * 0
    strides = torch.empty_like(x).stride()
    order = sorted(range(x.ndim), key=strides.__getitem__, reverse=True)
    noise = x.new_empty([x.shape[axis] for axis in order]).bernoulli_(1 - p).div_(1 - p)
    return x * noise.permute([order.index(axis) for axis in range(x.ndim)])


@functools.cache
def _ops_of_aten() -> list[OpOverload[Any, Any]]:
    """Those that Python code takes apart into ops that round otherwise."""
    all_names = (name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    names = (name.partition(".") for name in all_names if name.startswith(_TAKEN_APART))
    found = (getattr(getattr(torch.ops.aten, op, None), overload or "default", None) for op, _, overload in names)
    return [op for op in found if isinstance(op, OpOverload) and op.py_kernels]
