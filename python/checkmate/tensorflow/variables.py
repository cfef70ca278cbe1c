"""The variables that a captured step writes into: their values before measuring are their values after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from checkmate.tensorflow.capture import Captured, variables_behind


def written_variables(captured: Captured) -> list[tuple[Any, Any]]:
    """Handles and types, each once."""
    handles = dict(zip(map(id, captured.inputs[len(captured.batch_inputs) :]), captured.closure, strict=True))
    found: dict[int, tuple[Any, Any]] = {}
    for op in captured.ops:
        if not op.op_def.is_stateful or op.type in ("ReadVariableOp", "ResourceGather"):
            continue
        for tensor in op.inputs:
            for _, dtype in variables_behind(tensor) if id(tensor) in handles else []:
                found[id(tensor)] = handles[id(tensor)], dtype
    return list(found.values())


@contextmanager
def restored(captured: Captured) -> Iterator[None]:
    """Puts the variables' values back at the end."""
    # Copies: a value that somebody holds would be copied again by ops that write in place.
    before = [(handle, dtype, _value(handle, dtype)) for handle, dtype in written_variables(captured)]
    try:
        yield
    finally:
        for handle, dtype, value in before:
            tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(value, dtype))


def _value(handle: Any, dtype: Any) -> Any:
    return np.array(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype).numpy())


def written_values(captured: Captured) -> list[Any]:
    """Copies of the values of the variables that the step writes into."""
    return [_value(handle, dtype) for handle, dtype in written_variables(captured)]
