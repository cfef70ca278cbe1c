"""A traced step without writes: run for a second trace, its in-place ops become ops that return new tensors.

torch's functionalization is used directly: that of `torch.func` replaces some ops, such as the binary cross entropy with logits,
by several others, which round otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

aten = torch.ops.aten


def held_tensors(traced: fx.GraphModule) -> dict[Any, torch.Tensor]:
    """The tensors that the step uses and that are none of its inputs, by name."""
    return {n.target: getattr(traced, n.target) for n in traced.graph.nodes if n.op == "get_attr"}


def without_writes(traced: fx.GraphModule, inputs: int) -> Callable[..., Any]:
    """The step as a function of its inputs and, after them, of the tensors that it holds. What it writes into any of them is
    copied there at the end."""

    def run(*given: torch.Tensor) -> Any:
        wrapped = [torch._to_functional_tensor(tensor) for tensor in given]
        held = dict(zip(held_tensors(traced), wrapped[inputs:], strict=True))
        torch._enable_functionalization(reapply_views=True)
        try:
            results = _Interpreter(traced, held).run(*wrapped[:inputs], enable_io_processing=False)
        finally:
            torch._disable_functionalization()  # type: ignore[no-untyped-call]
        for tensor, last in zip(given, map(_plain, wrapped), strict=True):
            if last is not tensor:
                tensor.copy_(last)
        return pytree.tree_map_only(torch.Tensor, _plain, results)

    return run


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """What a functional tensor stands for, after all writes."""
    if not torch._is_functional_tensor(tensor):
        return tensor
    torch._sync(tensor)  # type: ignore[attr-defined, no-untyped-call]
    return torch._from_functional_tensor(tensor)


class _Interpreter(fx.Interpreter):
    """Runs the first trace for the second."""

    def __init__(self, traced: fx.GraphModule, held: dict[Any, torch.Tensor]) -> None:
        super().__init__(traced)
        self._held = held

    def get_attr(self, target: Any, _args: Any, _kwargs: Any) -> Any:
        return self._held[target]

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        # The op updates the statistics without saying so in its schema; its newer form says it.
        if target is aten.native_batch_norm.default and args[3] is not None and args[5]:
            target = aten._native_batch_norm_legit.default
        # A tensor of literals is new in each step, and may be written into.
        if target is aten.lift_fresh.default:
            target = aten.lift_fresh_copy.default
        # The op fills in the order of memory, its functional form in that of the indices: other numbers where those differ.
        if target is aten.bernoulli_.float:
            super().call_function(target, (_in_memory_order(args[0]), *args[1:]), kwargs)
            return args[0]
        layouts = [(tensor, tensor.stride()) for tensor in _written(target, args)]
        result = super().call_function(target, args, kwargs)
        for tensor, strides in layouts:
            _keep_layout(tensor, strides)
        return result


def _written(target: Any, args: Any) -> list[torch.Tensor]:
    """The arguments that an op writes into."""
    arguments = target._schema.arguments if isinstance(target, OpOverload) else ()
    pairs = zip(arguments, args, strict=False)
    return [given for a, given in pairs if a.alias_info is not None and a.alias_info.is_write and isinstance(given, torch.Tensor)]


def _keep_layout(tensor: torch.Tensor, strides: tuple[int, ...]) -> None:
    """What is written into keeps its layout; the result of an op's functional form may have another."""
    if tensor.stride() != strides and torch._is_functional_tensor_base(tensor):
        same = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
        torch._functionalize_replace(tensor, _plain(same))
        torch._functionalize_commit_update(tensor)


def _in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """A view of a dense tensor that is contiguous."""
    return tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))
