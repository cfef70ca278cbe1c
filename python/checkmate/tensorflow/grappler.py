"""TensorFlow's own optimizer of graphs, grappler: it works once, before planning, and not again on what was planned.

It would merge the copies of a recomputed op, which compute the same.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator
from typing import Any

from tensorflow.core.framework import function_pb2, graph_pb2
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow.python.eager import context
from tensorflow.python.framework import convert_to_constants
from tensorflow.python.grappler import tf_optimizer
from tensorflow.python.training.saver import export_meta_graph

_OFF = config_pb2.ConfigProto()
_OFF.graph_options.rewrite_options.disable_meta_optimizer = True
_numbers = itertools.count()  # of captured graphs: their functions live in one library


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


def optimized(function: Any) -> graph_pb2.GraphDef:
    """The graph of a concrete function, as TensorFlow would run it. Inputs and outputs keep their names.

    `If` and `While` stay one op each: taken apart into `Switch` and `Merge`, their dead branches would end a chain of ops.
    """
    whole = convert_to_constants.disable_lower_using_switch_merge(function.graph.as_graph_def())
    described = export_meta_graph(graph_def=whole, graph=function.graph)
    described.ClearField("collection_def")
    kept = meta_graph_pb2.CollectionDef()
    kept.node_list.value.extend(tensor.name for tensor in [*function.inputs, *function.outputs])
    kept.node_list.value.extend(op.name for op in function.graph.control_outputs)
    described.collection_def["train_op"].CopyFrom(kept)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1  # as in a function: graphs of any size
    result = tf_optimizer.OptimizeGraph(config, described)
    _rename_functions(result.library, result)
    for node in result.node:
        node.attr.pop("_class", None)  # colocation with nodes that may be gone: there is one device
    return result


def _rename_functions(library: function_pb2.FunctionDefLibrary, graph: graph_pb2.GraphDef) -> None:
    """New names, so that the functions of `If` and `While` do not meet their own before grappler."""
    suffix = f"_checkmate_{next(_numbers)}"
    names = {function.signature.name for function in library.function}
    for function in library.function:
        function.signature.name += suffix
    del library.gradient[:]
    for node in [*graph.node, *(node for function in library.function for node in function.node_def)]:
        if node.op in names:
            node.op += suffix
        for attribute in node.attr.values():
            for called in [attribute.func, *attribute.list.func] if attribute.WhichOneof("value") in ("func", "list") else []:
                if called.name in names:
                    called.name += suffix
    for function in library.function:
        for attribute in function.attr.values():
            if attribute.WhichOneof("value") == "func" and attribute.func.name in names:
                attribute.func.name += suffix
