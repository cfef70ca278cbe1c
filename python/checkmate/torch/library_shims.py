"""What torch and transformers do otherwise than eager while a step is traced, put right for that time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch


@contextlib.contextmanager
def as_in_eager(value_is_known: Callable[[torch.Tensor], bool]) -> Iterator[None]:
    """Within it, models take the path that they take in eager, as far as values are known."""
    with contextlib.ExitStack() as shims:
        if masking := sys.modules.get("transformers.masking_utils"):
            shims.enter_context(_known_masks(masking, value_is_known))
        shims.enter_context(_grouped_mm_of_any_type())
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
def _grouped_mm_of_any_type() -> Iterator[None]:
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
