"""Emits a plan: its steps as ops of the function that is being traced, each after the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework import ops as framework_ops

from checkmate.tensorflow import grappler
from checkmate.tensorflow.program import PASSING, WITH_BIAS, Program

_NOT_INLINED = {"_noinline": True}  # into a function that grappler works on


def function_of(program: Program, steps: Sequence[int]) -> Callable[..., list[Any]]:
    """Takes the flat batch and returns the flat outputs, by these units in this order."""

    def replay(*batch: Any) -> list[Any]:
        return _Replay(program, batch).run(steps)

    specs = [tf.TensorSpec(t.shape, t.dtype) for t in program.captured.batch_inputs]
    traced = tf.function(replay, autograph=False, experimental_attributes=_NOT_INLINED).get_concrete_function(*specs)

    def call(*batch: Any) -> list[Any]:
        with grappler.switched_off():
            return list(traced(*batch))

    return call


def step_name(step: int, op: int) -> str:
    """Begins the names of what a step emits, by which a profile knows it."""
    return f"checkmate.{step}.{op}/"


class _Replay:
    def __init__(self, program: Program, batch: Sequence[Any]) -> None:
        self._program = program
        self._graph = framework_ops.get_default_graph()
        inputs = program.captured.inputs
        self._newest = dict(zip(map(id, inputs), [*batch, *program.captured.closure], strict=True))
        self._views: dict[tuple[int, ...], Any] = {}
        self._before: list[Any] = []  # what the next step waits for

    def run(self, steps: Sequence[int]) -> list[Any]:
        for op in self._program.hoisted:
            self._before.append(self._emit(op, f"checkmate.read/{op.name}", ()))
        for position, unit in enumerate(steps):
            ops = self._program.units[unit].ops
            if any(op.name in self._program.fused for op in ops):
                self._before = [self._emit_with_bias(ops, step_name(position, 0), self._before)]
                continue
            # Between the ops of a unit there are the tensors that they hand on, and nothing else.
            self._before = [self._emit(op, step_name(position, number) + op.name, self._before) for number, op in enumerate(ops)]
        with self._graph.control_dependencies(self._before):  # what has an effect runs, whether or not it returns something
            return [tf.identity(self._value(tensor)) for tensor in self._program.captured.outputs]

    def _emit(self, op: Any, name: str, after: Sequence[Any]) -> Any:
        inputs = [self._value(tensor) for tensor in op.inputs]
        attributes = {key: op.node_def.attr[key] for key in op.node_def.attr if not key.startswith("_output_shapes")}
        for function in _functions_of(op):
            self._add_function(function)
        with self._graph.control_dependencies(None), self._graph.control_dependencies(after):
            made = self._graph._create_op_internal(
                op.type, inputs, [t.dtype for t in op.outputs], name=name, attrs=attributes, op_def=op.op_def
            )
        for tensor, new in zip(op.outputs, made.outputs, strict=True):
            new.set_shape(tensor.shape)
            self._newest[id(tensor)] = new
        return made

    def _emit_with_bias(self, ops: Sequence[Any], name: str, after: Sequence[Any]) -> Any:
        """The gradients of a convolution's kernel and bias by one kernel. TensorFlow makes that of the two ops by itself, but
        only where the input is the tensor that the forward pass read, and not a copy."""
        (of_kernel,) = (op for op in ops if op.type == "Conv2DBackpropFilter")
        (of_bias,) = (op for op in ops if op is not of_kernel)
        known = {attribute.name for attribute in op_def_registry.get(WITH_BIAS).attr}
        attributes = {key: of_kernel.node_def.attr[key] for key in of_kernel.node_def.attr if key in known}
        attributes["_kernel"] = attr_value_pb2.AttrValue(s=b"MklNameChangeOp")  # how such kernels are registered
        inputs = [self._value(tensor) for tensor in of_kernel.inputs]
        with self._graph.control_dependencies(None), self._graph.control_dependencies(after):
            # Whoever knows the input's shape takes its channels for those of the bias.
            inputs[0] = tf.raw_ops.PlaceholderWithDefault(input=inputs[0], shape=[None] * 4)
            made = self._graph._create_op_internal(
                WITH_BIAS, inputs, [of_kernel.outputs[0].dtype] * 2, name=name + of_kernel.name, attrs=attributes
            )
        for op, new in zip((of_kernel, of_bias), made.outputs, strict=True):
            new.set_shape(op.outputs[0].shape)
            self._newest[id(op.outputs[0])] = new
        return made

    def _value(self, tensor: Any) -> Any:
        """The newest copy of a tensor, or of what it is a view of."""
        constants = self._program.captured.constants
        op = tensor.op
        if id(tensor) in constants:
            return self._constant(id(tensor), constants[id(tensor)], tensor.dtype)
        if op.type == "Const":
            if id(tensor) not in self._newest:
                self._emit(op, f"checkmate.constant/{op.name}", ())
            return self._newest[id(tensor)]
        if op.type in PASSING:
            return self._value(op.inputs[list(map(id, op.outputs)).index(id(tensor))])
        if id(tensor) not in self._program.views:
            return self._newest[id(tensor)]
        inputs = [self._value(each) for each in op.inputs]
        key = (id(tensor), *map(id, inputs))
        if key not in self._views:
            self._emit(op, f"checkmate.view/{op.name}", ())
            for output in op.outputs:
                self._views[id(output), *map(id, inputs)] = self._newest[id(output)]
        return self._views[key]

    def _constant(self, key: int, value: Any, dtype: Any) -> Any:
        if key not in self._newest:
            with self._graph.control_dependencies(None):
                self._newest[key] = tf.constant(value, dtype)
        return self._newest[key]

    def _add_function(self, name: str) -> None:
        source = self._program.captured.graph
        function = source._get_function(name)
        if function is None or self._graph._is_function(name):
            return
        self._graph._add_function_recursive(function)
        for node in function.cached_definition.node_def:
            for called in _functions_in(node.attr):
                self._add_function(called)


def _functions_of(op: Any) -> list[str]:
    return _functions_in(op.node_def.attr)


def _functions_in(attributes: Any) -> list[str]:
    """Names of the functions that an op calls."""
    names = []
    for attribute in attributes.values():
        kind = attribute.WhichOneof("value")
        names += [attribute.func.name] if kind == "func" else [f.name for f in attribute.list.func] if kind == "list" else []
    return names
