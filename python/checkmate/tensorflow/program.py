"""A captured step as units of work over blocks of storage: what a plan orders.

A *storage* is a block of memory that one unit makes, or that is resident. Ops that hand on what they read, such as `Reshape` and
`Identity`, are not units: their results belong to the storage of their input, and they are emitted again next to whoever reads
them. A *unit* is an op with the ops that may write over its result, because nobody else reads it (`with_writes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from checkmate.frontend.errors import CaptureError
from checkmate.tensorflow.capture import Captured, nbytes, variables_behind

# Hand on each input as it is; and what shows its first input in another form.
PASSING = {"Identity", "IdentityN", "StopGradient", "PreventGradient"}
_VIEWS = {"Reshape", "Squeeze", "ExpandDims", "Bitcast", "EnsureShape", "CheckNumerics"}
_WITHOUT_WORK = {"Const", "Placeholder", "NoOp"}
# A view of a part of its input, where that lies at whole rows; and what returns its input where it has nothing to do.
_SOMETIMES_VIEWS = {
    "Slice", "StridedSlice", "Split", "SplitV", "Unpack", "Transpose", "Sum", "Mean", "Max", "Min", "Prod", "Tile",
    "BroadcastTo", "ConcatV2", "Pad",
}  # fmt: skip
# What TensorFlow makes of the gradients of a convolution's kernel and bias, where it can.
WITH_BIAS = "_MklNativeConv2DBackpropFilterWithBias"
# Ops that write over an input that nobody else holds.
_WRITING = {
    "Abs", "Add", "AddN", "AddV2", "BiasAdd", "Cast", "Div", "DivNoNan", "Elu", "EluGrad", "Erf", "Exp", "FloorDiv", "FloorMod",
    "GreaterEqual", "InvGrad", "LeakyRelu", "LeakyReluGrad", "Log", "Log1p", "LogicalAnd", "LogicalNot", "Maximum", "Minimum",
    "Mul", "MulNoNan", "Neg", "Pow", "RealDiv", "Reciprocal", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "Rsqrt", "RsqrtGrad",
    "Selu", "SeluGrad", "Sigmoid", "SigmoidGrad", "Softmax", "LogSoftmax", "Softplus", "SoftplusGrad", "Sqrt", "SqrtGrad",
    "Square", "SquaredDifference", "Sub", "Tan", "Tanh", "TanhGrad", "Xdivy", "Xlogy",
}  # fmt: skip

_SHAPED_BY_VALUES = {
    "Where", "Unique", "UniqueV2", "UniqueWithCounts", "DynamicPartition", "ListDiff", "NonMaxSuppressionV3", "SparseToDense",
    "RaggedTensorToTensor", "RaggedRange", "RaggedGather", "StringSplitV2", "SparseReshape",
}  # fmt: skip
_LARGEST_BY_VALUES = 1 << 16  # bytes


@dataclass
class Storage:
    """A block of memory."""

    name: str
    bytes: int
    unit: int | None  # the one that makes it; None: resident
    output: bool = False
    known: bool = True  # whether `bytes` follow from a shape


@dataclass
class Unit:
    """What runs as a whole."""

    ops: list[Any]
    reads: list[int] = field(default_factory=list)  # storages
    makes: list[int] = field(default_factory=list)
    effect: bool = False  # it has a state, or writes into one: it runs exactly once, in the order of the trace

    @property
    def name(self) -> str:
        """Of its ops."""
        return " + ".join(op.name for op in self.ops)


@dataclass(frozen=True)
class Program:
    """Units in the order in which the step runs them."""

    captured: Captured
    units: list[Unit]
    storages: list[Storage]
    storages_of: dict[int, tuple[int, ...]]  # of each tensor, by id: a view reads more than its base where its shape is computed
    hoisted: list[Any]  # reads of variables that nothing writes before
    views: frozenset[int]  # tensors that are made again for whoever reads them, by id
    fused: frozenset[str] = frozenset()  # names of ops of which TensorFlow makes one kernel with the other op of their unit


def lower(captured: Captured, aliases: frozenset[str] = frozenset(), fused: frozenset[str] = frozenset()) -> Program:
    """Storages have the sizes of their shapes. `aliases` are further ops that were seen to hand on their first input, and `fused`
    those that were seen to be one kernel with the gradient of a bias."""
    return replace(_with_bias_gradients(_Lowering(captured, aliases).program()), fused=fused)


class _Lowering:
    def __init__(self, captured: Captured, aliases: frozenset[str]) -> None:
        self._captured = captured
        self._aliases = aliases
        self._storages: list[Storage] = []
        self._units: list[Unit] = []
        self._of: dict[int, tuple[int, ...]] = {}
        self._views: set[int] = set()
        self._hoisted: list[Any] = []
        self._written: set[int] = set()  # handles of variables, by the id of the placeholder
        self._read_somewhere = {id(t) for op in captured.ops for t in op.inputs} | {id(t) for t in captured.outputs}

    def program(self) -> Program:
        for tensor in self._captured.inputs:
            self._of[id(tensor)] = (self._storage(tensor.name, _resident_bytes(tensor), None),)
        for op in self._captured.ops:
            self._lower(op)
        for tensor in self._captured.outputs:
            for storage in self._of[id(tensor)]:
                self._storages[storage].output = self._storages[storage].unit is not None
        return Program(self._captured, self._units, self._storages, self._of, self._hoisted, frozenset(self._views))

    def _lower(self, op: Any) -> None:
        outputs = [t for t in op.outputs if id(t) not in self._captured.constants]
        if op.type in _WITHOUT_WORK or (op.outputs and not outputs):
            for tensor in op.outputs:
                self._of.setdefault(id(tensor), ())
            return
        for tensor in set(op.outputs) - set(outputs) if len(outputs) < len(op.outputs) else ():
            self._of[id(tensor)] = ()
        handles = {id(t) for t in op.inputs if t.dtype == tf.resource}
        if op.type == "ReadVariableOp" and not handles & self._written:
            self._hoisted.append(op)
            self._of[id(op.outputs[0])] = self._of[id(op.inputs[0])]
            return
        if op.type in PASSING:
            for tensor, passed in zip(op.outputs, op.inputs, strict=True):
                self._of[id(tensor)] = self._of[id(passed)]
            return
        if op.type in _VIEWS or op.name in self._aliases:
            reads = tuple(dict.fromkeys(s for t in op.inputs for s in self._of[id(t)]))
            for tensor in op.outputs:
                self._of[id(tensor)] = reads
                self._views.add(id(tensor))
            return
        self._add_unit(op, outputs, handles)

    def _add_unit(self, op: Any, outputs: Sequence[Any], handles: set[int]) -> None:
        reads = list(dict.fromkeys(s for t in op.inputs for s in self._of[id(t)]))
        unit = Unit([op], reads, effect=op.op_def.is_stateful)
        if unit.effect and op.type not in ("ReadVariableOp", "ResourceGather"):
            self._written |= handles
        position = len(self._units)
        # A list holds on to the memory of the tensors and lists that it was made of.
        lists = [t for t in op.inputs if t.dtype == tf.variant or op.type.startswith("TensorList")]
        held = _unique(s for t in lists for s in self._of[id(t)])
        opaque = None  # one storage for all results that are references: lists of tensors of loops
        for tensor in outputs:
            size = nbytes(tensor)
            if op.type == "ReadVariableOp":
                size = 0  # the variable's own memory
            if size is None and opaque is not None:
                self._of[id(tensor)] = (opaque, *held)
                continue
            if size is not None and id(tensor) not in self._read_somewhere:
                continue  # it lives as long as the op runs
            storage = self._storage(tensor.name, size or 0, position, known=size is not None)
            self._of[id(tensor)] = (storage, *held) if size is None else (storage,)
            unit.makes.append(storage)
            opaque = storage if size is None else opaque
        if not unit.makes:
            unit.makes.append(self._storage(f"{op.name} done", 0, position))
        self._units.append(unit)

    def _storage(self, name: str, size: int, unit: int | None, known: bool = True) -> int:
        self._storages.append(Storage(name, size, unit, known=known))
        return len(self._storages) - 1


def _resident_bytes(tensor: Any) -> int:
    """Of an input, or of the variable that it stands for."""
    if tensor.dtype != tf.resource:
        return nbytes(tensor) or 0
    known = [(shape, dtype) for shape, dtype in variables_behind(tensor) if shape.is_fully_defined()]
    return sum(shape.num_elements() * dtype.size for shape, dtype in known)


def may_be_view(op: Any) -> bool:
    """Whether an op that was seen to allocate nothing may have handed on its input."""
    return op.type in _SOMETIMES_VIEWS and not op.op_def.is_stateful


def may_write(op: Any) -> bool:
    """Whether an op is known to write over an input that nobody else holds."""
    return op.type in _WRITING


def with_writes(program: Program, writes: Callable[[Any], bool] = may_write) -> Program:
    """Moves each op that writes over its input into the unit that makes that input, if nobody else reads it: the value in between
    has the same size, so to keep it is never better than to keep what replaces it."""
    units = [replace(unit, ops=list(unit.ops), reads=list(unit.reads), makes=list(unit.makes)) for unit in program.units]
    storages = [replace(storage) for storage in program.storages]
    readers = [0] * len(storages)
    for unit in units:
        for read in unit.reads:
            readers[read] += 1
    home = list(range(len(units)))
    replaced: dict[int, int] = {}

    def current(storage: int) -> int:
        while storage in replaced:
            storage = replaced[storage]
        return storage

    def maker(storage: int) -> int:
        made = storages[storage].unit
        return -1 if made is None else home[made]

    for index, unit in enumerate(units):
        unit.reads = list(dict.fromkeys(current(read) for read in unit.reads))
        if not unit.reads or len(unit.makes) != 1 or unit.effect or not writes(unit.ops[0]):
            continue
        latest = max(unit.reads, key=maker)
        written, target = storages[latest], maker(latest)
        alone = target >= 0 and readers[latest] == 1 and sum(maker(read) == target for read in unit.reads) == 1
        if not alone or written.output or written.bytes != storages[unit.makes[0]].bytes or units[target].effect:
            continue
        if not _writes_over(unit.ops[0], latest, program, current):
            continue
        units[target].ops += unit.ops
        units[target].reads += [read for read in unit.reads if read != latest and read not in units[target].reads]
        replaced[unit.makes[0]] = latest
        written.output = storages[unit.makes[0]].output
        readers[latest] = readers[unit.makes[0]]
        home[index], unit.ops = target, []
    return _renumbered(program, units, storages, home, current)


def _with_bias_gradients(program: Program) -> Program:
    """Moves the gradient of a convolution's bias next to that of its kernel: TensorFlow makes one kernel of them where it can,
    which rounds otherwise, and it can where nothing else comes between."""
    units = [replace(unit, ops=list(unit.ops), reads=list(unit.reads), makes=list(unit.makes)) for unit in program.units]
    of_kernel = {id(u.ops[0].inputs[2]): i for i, u in enumerate(units) if u.ops[0].type == "Conv2DBackpropFilter"}
    home = list(range(len(units)))
    for index, unit in enumerate(units):
        other = of_kernel.pop(id(unit.ops[0].inputs[0]), None) if unit.ops[0].type == "BiasAddGrad" else None
        if other is None:
            continue
        first, last = sorted((index, other))
        if any(set(units[first].makes) & set(between.reads) for between in units[first + 1 : last]):
            continue
        units[last].ops = units[first].ops + units[last].ops
        units[last].reads = _unique(units[first].reads + units[last].reads)
        units[last].makes = units[first].makes + units[last].makes
        home[first], units[first].ops = last, []
    return _renumbered(program, units, [replace(storage) for storage in program.storages], home, int)


def _writes_over(op: Any, storage: int, program: Program, current: Any) -> bool:
    """Whether the op reads the whole storage once, as a tensor of the size and type of its result."""
    reading = [t for t in op.inputs if storage in map(current, program.storages_of[id(t)])]
    return len(reading) == 1 and reading[0].dtype.size == op.outputs[0].dtype.size and reading[0].shape == op.outputs[0].shape


def _renumbered(program: Program, units: list[Unit], storages: list[Storage], home: list[int], current: Any) -> Program:
    """Leaves out units without ops and storages that were replaced."""
    kept_units = {old: new for new, old in enumerate(i for i, unit in enumerate(units) if unit.ops)}
    kept = {old: new for new, old in enumerate(i for i in range(len(storages)) if current(i) == i)}
    found = [unit for unit in units if unit.ops]
    for unit in found:
        unit.reads = _unique(kept[current(read)] for read in unit.reads)
        unit.makes = _unique(kept[current(made)] for made in unit.makes)
    remaining = [storages[old] for old in kept]
    for storage in remaining:
        if storage.unit is not None:
            storage.unit = kept_units[home[storage.unit]]
    of = {tensor: tuple(_unique(kept[current(s)] for s in owners)) for tensor, owners in program.storages_of.items()}
    return replace(program, units=found, storages=remaining, storages_of=of)


def _unique(values: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(values))


def check_sizes(program: Program, measured: Mapping[int, int]) -> None:
    """Refuses a step with large tensors whose shapes depend on values. Others that TensorFlow does not know are measured."""
    depends: set[int] = set()  # tensors, by id
    for op in program.captured.ops:
        unknown = [t for t in op.outputs if not t.shape.is_fully_defined()]
        if op.type in _SHAPED_BY_VALUES or any(id(t) in depends for t in op.inputs):
            depends.update(map(id, unknown))
    for index, size in measured.items():
        unit = program.storages[index].unit
        if unit is None or size <= _LARGEST_BY_VALUES:
            continue
        (op, *_) = program.units[unit].ops
        if any(id(t) in depends and index in program.storages_of[id(t)] for t in op.outputs):
            raise CaptureError(
                f"the shape of {program.storages[index].name} ({op.type}, {size} bytes now) depends on values, but a plan needs "
                "shapes that are known in advance: use a mask instead of selecting elements, or select them before the step"
            )
