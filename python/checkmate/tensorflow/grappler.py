"""TensorFlow's own optimizer of graphs, grappler: it works once, before planning, and not again on what was planned.

It would merge the copies of a recomputed op, which compute the same. What is planned is the very graph that TensorFlow would
run, so that numbers are bitwise the same: with the devices, shapes and options that its executor knows, grappler rewrites more
than it does on a graph alone.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import cancellation, context
from tensorflow.python.ops import control_flow_util_v2

from checkmate.frontend.errors import CaptureError, first_line

_OFF = config_pb2.ConfigProto()
_OFF.graph_options.rewrite_options.disable_meta_optimizer = True


@tf.function(autograph=False)
def _nothing() -> Any:
    return tf.constant(0)


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """For the functions that are called inside, also where the call is traced."""
    thread = context.context()
    before = thread.function_call_options
    changed = copy.copy(before)
    changed.config_proto_serialized = _OFF
    thread.function_call_options = changed
    try:
        yield
    finally:
        thread.function_call_options = before


@contextlib.contextmanager
def whole_control_flow() -> Iterator[None]:
    """While tracing: `If` and `While` stay one op each. Taken apart into `Switch` and `Merge`, a branch that is not taken would
    end a chain of ops."""
    before = control_flow_util_v2._DISABLE_LOWER_USING_SWITCH_MERGE
    control_flow_util_v2._DISABLE_LOWER_USING_SWITCH_MERGE = True
    try:
        yield
    finally:
        control_flow_util_v2._DISABLE_LOWER_USING_SWITCH_MERGE = before


def optimized(concrete: Any, batch: Sequence[Any]) -> Any:
    """The graph that TensorFlow would run for this concrete function on such a batch. Nothing runs.

    A call that is cancelled before it begins has its graph made, which TensorFlow notes where it notes what functions ran.
    """
    _nothing()  # so that its own graph is not noted
    manager = cancellation.CancellationManager()
    manager.start_cancel()
    thread = context.context()
    thread.enable_graph_collection()
    try:
        try:
            manager.get_cancelable_function(concrete)(*batch)
        except tf.errors.CancelledError:
            pass
        except tf.errors.OpError as error:
            raise CaptureError(f"TensorFlow cannot prepare the step: {first_line(error)}") from error
        _nothing()  # what is noted is handed out after a call that ran
        noted = thread.export_run_metadata()
    finally:
        thread.disable_graph_collection()
    graphs = [each.post_optimization_graph for each in noted.function_graphs]
    found = [graph for graph in graphs if sum(node.op == "_Arg" for node in graph.node) == len(concrete.inputs)]
    if not found:
        raise CaptureError("TensorFlow did not tell which graph it would run: this is a bug of checkmate.tensorflow")
    return max(found, key=lambda graph: len(graph.node))
