"""A function of tensors as a graph of ops in the order of its trace: traced, optimized by grappler, at static shapes."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import func_graph, importer
from tensorflow.python.ops import handle_data_util

from checkmate.frontend.errors import CaptureError, first_line
from checkmate.tensorflow import grappler

_LARGEST_FOLDED = 1024  # elements of a tensor that follows from shapes
_SOURCES = ("Const", "Placeholder")
_LOWERED = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge")
_COMPILED = ("_XlaMustCompile", "_XlaCompile")


@dataclass(frozen=True)
class Captured:
    """What ran, op by op. Tensors are those of `graph`."""

    graph: Any
    ops: list[Any]  # in the order of the trace; recomputing nothing is running them so
    inputs: list[Any]  # placeholders: of the batch, then of what the function captured
    outputs: list[Any]
    closure: list[Any] = field(repr=False)  # what the function captured: variables' handles and constants
    structure: Any = field(repr=False)  # what the function returned, with its tensors in the order of `outputs`
    constants: dict[int, Any] = field(repr=False)  # values of tensors that follow from shapes, by id
    backward_from: int = 0  # the first op of the backward pass

    @property
    def batch_inputs(self) -> list[Any]:
        """The placeholders of the batch."""
        return self.inputs[: len(self.inputs) - len(self.closure)]

    def packed(self, outputs: Sequence[Any]) -> Any:
        """What the function would have returned."""
        leaves = tf.nest.flatten(self.structure, expand_composites=True)
        values = iter(outputs)
        found = [None if leaf is None else next(values) for leaf in leaves]
        return tf.nest.pack_sequence_as(self.structure, found, expand_composites=True)


def capture(function: Callable[..., Any], traced: Sequence[Any], batch: Sequence[Any]) -> Captured:
    """`function` of flat tensors, traced with the specs `traced` as TensorFlow would, then made static for such a batch."""
    try:
        with grappler.whole_control_flow():
            concrete = tf.function(function, autograph=False).get_concrete_function(*traced)
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(
            f"the step cannot be captured as a graph: {first_line(error)}; "
            "call the same function inside tf.function(autograph=False) to see whether it works without checkmate"
        ) from error
    _refuse(concrete.graph)
    graph, inputs, outputs = _imported(grappler.optimized(concrete, batch), concrete, batch)
    ops, backward_from = _in_order(graph, concrete.graph)
    closure, structure = list(concrete.captured_inputs), concrete.structured_outputs
    return Captured(graph, ops, inputs, outputs, closure, structure, _folded(ops), backward_from)


def variables_behind(handle: Any) -> list[tuple[Any, Any]]:
    """Shape and type of what a resource stands for; nothing where it is no variable."""
    data = handle_data_util.get_resource_handle_data(handle)
    if data is None or not data.is_set:
        return []
    return [(tf.TensorShape(each.shape), tf.as_dtype(each.dtype)) for each in data.shape_and_type]


def nbytes(tensor: Any) -> int | None:
    """Of its elements; None where the shape is not known, or where elements are references to other memory."""
    if tensor.dtype in (tf.resource, tf.variant, tf.string):
        return None
    return math.prod(tensor.shape.as_list()) * tensor.dtype.size if tensor.shape.is_fully_defined() else None


def _refuse(graph: Any) -> None:
    for op in graph.get_operations():
        if op.type in _LOWERED:
            raise CaptureError(
                f"{op.name} is a {op.type}, control flow of TensorFlow 1: use tf.cond and tf.while_loop with "
                "tf.compat.v1.enable_control_flow_v2(), which is the default of TensorFlow 2"
            )
        attributes = op.node_def.attr
        if any(name in attributes and attributes[name].b for name in _COMPILED):
            raise CaptureError(
                f"{op.name} is compiled by XLA, which undoes a plan: leave out jit_compile=True, "
                "in model.compile as in tf.function"
            )


def _imported(definition: Any, concrete: Any, batch: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
    """The graph over placeholders of static shapes, with its inputs and outputs."""
    arguments = {node.attr["index"].i: node.name for node in definition.node if node.op == "_Arg"}
    results = {node.attr["index"].i: node.input[0] for node in definition.node if node.op == "_Retval"}
    waited_for = {name for node in definition.node for name in node.input if name.startswith("^")}
    kept = [
        node
        for node in definition.node
        if node.op not in ("_Arg", "_Retval") and (node.op != "NoOp" or f"^{node.name}" in waited_for)
    ]
    gone = {f"^{name}" for name in arguments.values()}
    for node in kept:
        if gone & set(node.input):
            inputs = [name for name in node.input if name not in gone]
            del node.input[:]
            node.input.extend(inputs)
        node.attr.pop("_class", None)  # colocation with nodes that are gone: there is one device,
        node.device = ""  # that of whoever calls
    del definition.node[:]
    definition.node.extend(kept)
    graph = func_graph.FuncGraph("checkmate")
    with graph.as_default():
        inputs = []
        for position, tensor in enumerate(concrete.inputs):
            shape = batch[position].shape if position < len(batch) else [] if tensor.dtype == tf.resource else tensor.shape
            placeholder = tf.raw_ops.Placeholder(dtype=tensor.dtype, shape=shape, name="checkmate_input")
            handle_data_util.copy_handle_data(tensor, placeholder)
            inputs.append(placeholder)
        by_name = {f"{arguments[position]}:0": placeholder for position, placeholder in enumerate(inputs)}
        read = {name if ":" in name else f"{name}:0" for node in kept for name in node.input if not name.startswith("^")}
        importer.import_graph_def(definition, name="", input_map={k: v for k, v in by_name.items() if k in read})
    names = [results[position] for position in range(len(results))]
    names = [name if ":" in name else f"{name}:0" for name in names]
    return graph, inputs, [by_name[name] if name in by_name else graph.get_tensor_by_name(name) for name in names]


def _in_order(graph: Any, traced: Any) -> tuple[list[Any], int]:
    """A topological order that follows the trace. What grappler has made comes right before who reads it first."""
    place: dict[str, float] = {op.name: index for index, op in enumerate(traced.get_operations())}
    ops = graph.get_operations()
    readers: dict[Any, list[Any]] = defaultdict(list)
    waiting = {}
    for op in ops:
        needs = {tensor.op for tensor in op.inputs} | set(op.control_inputs)
        waiting[op] = len(needs)
        for needed in needs:
            readers[needed].append(op)
    for op in reversed(_topological(ops, readers, dict(waiting), lambda _: 0)):
        if op.name not in place:
            place[op.name] = min((place[reader.name] for reader in readers[op]), default=len(place)) - 0.5
    order = _topological(ops, readers, waiting, lambda op: place[op.name])
    gradients = (index for index, op in enumerate(order) if op.name.startswith("gradient_tape"))
    return order, next(gradients, len(order))


def _topological(
    ops: Sequence[Any], readers: dict[Any, list[Any]], waiting: dict[Any, int], key: Callable[[Any], float]
) -> list[Any]:
    number = {op: index for index, op in enumerate(ops)}
    ready = [(key(op), number[op], op) for op in ops if waiting[op] == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        op = heapq.heappop(ready)[-1]
        order.append(op)
        for reader in readers[op]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, (key(reader), number[reader], reader))
    if len(order) != len(ops):
        raise CaptureError("the step's graph has a cycle: it uses loops of TensorFlow 1; use tf.while_loop of TensorFlow 2")
    return order


def _folded(ops: Sequence[Any]) -> dict[int, Any]:
    """Values of what follows from shapes alone. Left in the graph, it would pull its inputs back into memory."""
    known: set[int] = set()
    values = {}
    for op in ops:
        if op.type == "Const":
            known.update(id(tensor) for tensor in op.outputs)
            continue
        of_shapes = op.type in ("Shape", "ShapeN", "Size", "Rank") and all(t.shape.is_fully_defined() for t in op.inputs)
        follows = of_shapes or (op.inputs and not op.op_def.is_stateful and all(id(t) in known for t in op.inputs))
        for tensor in op.outputs if follows and op.type not in _SOURCES else []:
            if (
                tensor.dtype in (tf.variant, tf.resource)
                or not tensor.shape.is_fully_defined()
                or tensor.shape.num_elements() > _LARGEST_FOLDED
            ):
                continue
            value = pywrap_tf_session.TF_TryEvaluateConstant_wrapper(tensor.graph._c_graph, tensor._as_tf_output())
            if value is not None:
                known.add(id(tensor))
                values[id(tensor)] = value
    return values
