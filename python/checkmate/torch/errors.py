"""Errors between a model and a plan, each with its remedy."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from checkmate.frontend.errors import CaptureError, first_line

__all__ = ["CaptureError", "explain_capture_failure"]

_ADVICE = {
    DataDependentOutputException: (
        "the step branches on the values of tensors ({op}), but a plan needs a step that is the same for every batch: "
        "replace `if`, `.item()` or `bool()` on tensors by torch.where, or compute them before the step"
    ),
    GuardOnDataDependentSymNode: (
        "the step branches on the values of tensors, but a plan needs a step that is the same for every batch: "
        "replace `if` on tensors by torch.where, or compute them before the step"
    ),
    DynamicOutputShapeException: (
        "the shape of a tensor depends on values ({op}), but a plan needs shapes that are known in advance: "
        "use a mask instead of selecting elements, or select them before the step"
    ),
    UnsupportedOperatorException: (
        "the op {op} cannot be captured, because torch does not know its shapes: register a fake implementation "
        "(torch.library.register_fake), or move it out of the step"
    ),
}


@contextlib.contextmanager
def explain_capture_failure() -> Iterator[None]:
    """Turns whatever torch raises into a sentence."""
    log = logging.getLogger("torch._subclasses.fake_tensor")  # logs a traceback in addition to what it raises
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    except CaptureError:
        raise
    except Exception as error:
        for kind, advice in _ADVICE.items():
            if isinstance(error, kind):
                raise CaptureError(advice.format(op=getattr(error, "func", "an op"))) from error
        raise CaptureError(
            f"the step cannot be captured as a graph: {first_line(error)}; "
            "run loss_fn(model, *batch) and .backward() once without checkmate to see whether they work"
        ) from error
    finally:
        log.setLevel(level)
