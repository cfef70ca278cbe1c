"""Training steps: ops in a topological order and the tensors between them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from . import _checks, _core
from .errors import Error

__all__ = ["Graph", "Op", "Tensor", "load"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A block of storage. A view of another tensor is not a tensor: its users use the base.

    A ``resident`` tensor is made by no op and always in memory (a parameter, a buffer, the batch); an ``output`` stays from its
    last run to the end (the loss, a gradient).
    """

    name: str
    bytes: int
    resident: bool = False
    output: bool = False

    def __post_init__(self) -> None:
        _checks.text(self.name, "a tensor's name")
        # Ints of other libraries become Python's, so that equal tensors are written alike.
        object.__setattr__(self, "bytes", _checks.amount(self.bytes, "bytes", f" of tensor {self.name!r:.60}"))
        _checks.flag(self.resident, "resident")
        _checks.flag(self.output, "output")


@dataclass(frozen=True, slots=True)
class Op:
    """A computation that may run more than once.

    ``cost`` is a whole number or has a fraction. A graph's costs are whole: see :class:`Graph`.
    ``inputs`` and ``outputs`` are indices of the graph's tensors; ``workspace`` bytes are held only while it runs; ``phase`` is
    ``forward``, ``loss``, ``backward`` or ``update``. An op that is not ``recomputable`` (random numbers, collectives, side
    effects) runs exactly once.
    """

    name: str
    cost: float
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str = ""
    workspace: int = 0
    phase: str = "forward"
    recomputable: bool = True

    PHASES: ClassVar[tuple[str, ...]] = ("forward", "loss", "backward", "update")

    def __init__(
        self,
        name: str,
        cost: float | Decimal | Fraction,
        inputs: Iterable[int],
        outputs: Iterable[int],
        kind: str = "",
        workspace: int = 0,
        phase: str = "forward",
        recomputable: bool = True,
    ) -> None:
        _checks.text(name, "an op's name")
        of_op = f" of op {name!r:.60}"
        fields = {
            "name": name,
            "cost": _checks.cost(cost, "cost", of_op),
            "inputs": _checks.indices(inputs, "inputs", of_op),
            "outputs": _checks.indices(outputs, "outputs", of_op),
            "kind": _checks.text(kind, "kind", of_op),
            "workspace": _checks.amount(workspace, "workspace", of_op),
            "phase": _checks.text(phase, "phase", of_op),
            "recomputable": _checks.flag(recomputable, "recomputable", of_op),
        }
        if phase not in self.PHASES:
            raise Error(f"phase{of_op} must be one of {', '.join(self.PHASES)}, got {phase!r:.60}", "invalid_graph")
        for field, value in fields.items():
            object.__setattr__(self, field, value)


class Graph:
    """A training step. Immutable, and checked when it is made: :class:`checkmate.Error` says what is wrong.

    Its costs are whole numbers. Where some of the given ones have fractions, all are multiplied by the same power of ten, and
    ``cost_unit`` tells which: costs of 0.25 and 3 ms are 25 and 300 of ``ms/10^2`` (docs/file_formats.md).

    >>> graph = Graph("tiny", [Tensor("x", 4096)], [Op("f", 10, inputs=[], outputs=[0])])
    >>> graph.keep_all_peak
    4096
    """

    __slots__ = ("_handle", "_ops", "_tensors")
    _handle: _core.Graph
    _tensors: tuple[Tensor, ...] | None
    _ops: tuple[Op, ...] | None

    def __init__(
        self,
        name: str,
        tensors: Iterable[Tensor],
        ops: Iterable[Op],
        cost_unit: str = "ns",
        reserved_bytes: int = 0,
    ) -> None:
        """``ops`` are in a topological order. ``reserved_bytes`` is fixed memory that no tensor stands for, such as optimizer
        state."""
        tensors, ops = tuple(tensors), tuple(ops)
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"each of tensors must be a checkmate.Tensor, got {tensor!r:.60}")
        for op in ops:
            if not isinstance(op, Op):
                raise TypeError(f"each of ops must be a checkmate.Op, got {op!r:.60}")
        costs, cost_unit = _whole_costs([op.cost for op in ops], _checks.text(cost_unit, "cost_unit"))
        handle = _core.build_graph(
            _checks.text(name, "a graph's name"),
            [(t.name, t.bytes, t.resident, t.output) for t in tensors],
            [
                (o.name, cost, o.inputs, o.outputs, o.kind, o.workspace, o.phase, o.recomputable)
                for o, cost in zip(ops, costs, strict=True)
            ],
            cost_unit,
            _checks.amount(reserved_bytes, "reserved_bytes"),
        )
        self._set(handle)

    def _set(self, handle: _core.Graph) -> None:
        object.__setattr__(self, "_handle", handle)
        object.__setattr__(self, "_tensors", None)
        object.__setattr__(self, "_ops", None)

    @classmethod
    def _of(cls, handle: _core.Graph) -> Graph:
        graph = cls.__new__(cls)
        graph._set(handle)
        return graph

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """From the text of a graph file, in any format that ``load`` reads."""
        return cls._of(_core.parse_graph(_checks.text(text, "a graph's JSON")))

    def to_json(self) -> str:
        """In our own format (docs/file_formats.md); ``from_json`` of it gives an equal graph."""
        return self._handle.to_json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes ``to_json()`` to a file, as a whole or not at all."""
        _core.write_file(_checks.path(path), self.to_json())

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self._handle.name

    @property
    def cost_unit(self) -> str:
        """The unit of costs: ``ns``, ``mac``, ..."""
        return self._handle.cost_unit

    @property
    def tensors(self) -> list[Tensor]:
        """In the order in which ops refer to them."""
        if self._tensors is None:
            object.__setattr__(self, "_tensors", tuple(Tensor(*row) for row in self._handle.tensors()))
        return list(self._tensors or ())

    @property
    def ops(self) -> list[Op]:
        """In topological order. A tensor that was listed twice among the inputs appears once."""
        if self._ops is None:
            object.__setattr__(self, "_ops", tuple(Op(*row) for row in self._handle.ops()))
        return list(self._ops or ())

    @property
    def fixed_bytes(self) -> int:
        """Memory that is always in use: the resident tensors and ``reserved_bytes``."""
        return self._handle.fixed_bytes

    @property
    def reserved_bytes(self) -> int:
        """Fixed memory that no tensor stands for."""
        return self._handle.reserved_bytes

    @property
    def keep_all_cost(self) -> int:
        """The cost of running every op once: no plan is cheaper."""
        return self._handle.keep_all_cost

    @property
    def keep_all_peak(self) -> int:
        """The peak of running every op once in order, in bytes, without ``fixed_bytes``."""
        return self._handle.keep_all_peak()

    @property
    def structural_minimum(self) -> tuple[int, int]:
        """``(bytes, op index)``: what the largest op needs by itself, without ``fixed_bytes``. No plan needs less."""
        return self._handle.structural_minimum()

    @property
    def sha256(self) -> str:
        """The fingerprint that ties a plan to its graph: of ``to_json()`` without the graph's name."""
        return self._handle.sha256()

    def with_costs(self, costs: Iterable[float | Decimal | Fraction], cost_unit: str | None = None) -> Graph:
        """The same graph with other costs, one per op, with or without fractions."""
        given = [_checks.cost(cost, "each of costs") for cost in _checks.sequence(costs, "costs")]
        unit = self.cost_unit if cost_unit is None else _checks.text(cost_unit, "cost_unit")
        return Graph._of(self._handle.with_costs(*_whole_costs(given, unit)))

    def with_cost_model(self, spec: str) -> Graph:
        """The same graph with the costs of a model: ``flops``, ``roofline:v100``, ``profile:FILE`` (docs/cost_models.md)."""
        return Graph._of(self._handle.with_cost_model(_checks.text(spec, "a cost model")))

    def parse_budget(self, budget: str | int) -> int:
        """Bytes for everything: ``"2GiB"``, ``"16GB"``, an int, or ``"60%"`` of ``keep_all_peak`` in addition to
        ``fixed_bytes``."""
        if isinstance(budget, str):
            return self._handle.parse_budget(_checks.text(budget, "budget"))
        return self._handle.parse_budget(_checks.whole(budget, 'budget, unless it is text such as "2GiB" or "60%",'))

    def __len__(self) -> int:
        """The number of ops."""
        return self._handle.op_count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or self._handle.equals(other._handle)

    def __hash__(self) -> int:
        return hash((self.name, len(self), self.keep_all_cost, self.fixed_bytes))

    def __repr__(self) -> str:
        fixed = f" + {_core.bytes_text(self.fixed_bytes)} fixed" if self.fixed_bytes else ""
        return (
            f"<checkmate.Graph {self.name!r}: {len(self)} ops, {self._handle.tensor_count} tensors,"
            f" {_core.bytes_text(self.keep_all_peak)}{fixed} to keep all>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph.from_json, (self.to_json(),)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a checkmate.Graph is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a checkmate.Graph is immutable: cannot delete {name!r}")


def _whole_costs(costs: Sequence[float], unit: str) -> tuple[Sequence[int], str]:
    """The costs of a graph, and their unit."""
    whole = [cost for cost in costs if isinstance(cost, int)]
    return (whole, unit) if len(whole) == len(costs) else _core.whole_costs(list(map(repr, costs)), unit)


def handle_of(graph: Graph) -> _core.Graph:
    """The core's graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"expected a checkmate.Graph, got {graph!r:.60}")
    return graph._handle


def load(source: str | os.PathLike[str]) -> Graph:
    """A graph from a file, or from the zoo: ``load("zoo:unet?batch=32")``."""
    return Graph._of(_core.load_graph(_checks.path(source)))
