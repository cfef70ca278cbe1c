"""Kernels that Inductor compiles for groups of ops, as targets of calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import fx

from checkmate.torch.fused.ops import is_reduction
from checkmate.torch.fused.recipe import Layout, Recipe, functions_of, recipe
from checkmate.torch.fx_utils import is_getitem, overload, storage_address, value

aten = torch.ops.aten

NOT_FUSED = "checkmate_not_fused"  # in a node's metadata: its group could not be compiled
Compiled = Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]
Compiler = Callable[[fx.Graph], Compiled]


@dataclass(frozen=True)
class Subgraph:
    """Ops as a graph of their own, in names that do not depend on where in the step they stand."""

    graph: fx.Graph
    inputs: list[fx.Node]  # values of the step
    results: list[fx.Node]
    key: str  # equal for two that do the same

    def can_overwrite(self, argument: int, result: int) -> bool:
        """Whether each element of the result depends, reductions apart, on the same element of the argument alone.

        Inductor would write over elements that it has still to read otherwise.
        """
        placeholders, (output,) = self.graph.find_nodes(op="placeholder"), self.graph.find_nodes(op="output")
        written = output.args[0][result]
        inline, wanted = {written}, [written]  # what Inductor computes in one expression
        while wanted:
            for read in wanted.pop().all_input_nodes:
                if read not in inline and not is_reduction(read) and not is_getitem(read):
                    inline.add(read)
                    wanted.append(read)
        same = {placeholders[argument]}
        for node in self.graph.nodes:
            if node in inline and (read_here := same.intersection(node.all_input_nodes)):
                if not _keeps_elements(node, read_here):
                    return False
                same.add(node)
        return written in same


_VIEWS = {aten.permute.default, aten.expand.default, aten.slice.Tensor, aten.split.Tensor, aten.split_with_sizes.default}
_RESHAPES = {aten.view.default, aten._unsafe_view.default, aten.unsqueeze.default, aten.squeeze.dim, aten.alias.default}


def _keeps_elements(node: fx.Node, read: Iterable[fx.Node]) -> bool:
    """Whether the elements of the result are, in memory, where those of the arguments are."""
    op, new = overload(node), value(node)
    if op is None or not isinstance(new, torch.Tensor):
        return False
    if op in _RESHAPES:
        return all(value(each).is_contiguous() and new.is_contiguous() for each in read)
    same = all(value(each).shape == new.shape and value(each).stride() == new.stride() for each in read)
    return torch.Tag.pointwise in op.tags and same


class FusedKernel:
    """The target of a call that runs a group of ops as one.

    With `writes`, an argument and a result: the result is written over the argument, which comes first then.
    """

    effect = False
    planned = True  # it allocates the same each time it runs

    def __init__(self, subgraph: Subgraph, compiler: Compiler, writes: tuple[int, int] | None = None) -> None:
        self._subgraph = subgraph
        self._compiler = compiler
        self._writes = writes
        self._compiled: Compiled | None = None
        self._in_place: dict[tuple[int, int], FusedKernel] = {}
        self.__name__ = "fused"

    def __call__(self, *inputs: torch.Tensor) -> Sequence[torch.Tensor]:
        """The results of the group."""
        if self._writes is None:
            return _apart(self.compiled()(list(inputs)), inputs)
        written, *others = inputs
        argument, result = self._writes
        others.insert(argument, written)
        shape = value(self._subgraph.results[result]).shape
        results = _apart(self.compiled()(others), inputs)
        results.insert(result, written.view(shape))
        return results

    @property
    def key(self) -> str:
        """Of the group of ops."""
        return self._subgraph.key

    @property
    def kind(self) -> str:
        """The ops that it computes, in order, each named once."""
        called = map(overload, self._subgraph.graph.nodes)
        names = dict.fromkeys(
            op._schema.name.partition("::")[2] for op in called if op is not None and op not in _VIEWS | _RESHAPES
        )
        from_python = self._compiled is not None and self.native is None
        return f"fused({', '.join(names)}){', called from Python' if from_python else ''}"

    @functools.cached_property
    def native(self) -> tuple[list[Layout], Recipe, list[tuple[int, Layout]]] | None:
        """As the runtime in C++ can run it: arguments, recipe, and which operands are results; None if only Python can."""
        compiled = self.compiled()
        found = recipe(getattr(compiled, "source_code", ""), functions_of(getattr(compiled, "current_callable", compiled)))
        if found is None:
            return None
        arguments = list(map(_layout, self._subgraph.inputs))
        results = list(found.results)
        if self._writes is not None:
            argument, result = self._writes
            results.insert(result, argument)
            # The written argument comes first.
            order = [argument, *(i for i in range(len(arguments)) if i != argument)]
            found = found.renumbered({operand: position for position, operand in enumerate(order)})
            results = [order.index(operand) if operand < len(order) else operand for operand in results]
            arguments = [arguments[operand] for operand in order]
        return arguments, found, list(zip(results, map(_layout, self._subgraph.results), strict=True))

    def __str__(self) -> str:
        return f"fused {self._subgraph.key[:16]} {self._writes or ''}"

    def can_overwrite(self, argument: int, result: int) -> bool:
        """Whether there is such a kernel."""
        return self._subgraph.can_overwrite(argument, result)

    def in_place(self, argument: int, result: int) -> FusedKernel:
        """The kernel that writes this result over this argument."""
        writes = (argument, result)
        return self._in_place.setdefault(writes, FusedKernel(self._subgraph, self._compiler, writes))

    def compiled(self) -> Compiled:
        """What Inductor made of it, compiled now if it was not yet."""
        if self._compiled is None:
            self._compiled = self._compiler(self._graph())
        return self._compiled

    def _graph(self) -> fx.Graph:
        graph = fx.Graph()
        results = graph.graph_copy(self._subgraph.graph, {})
        assert isinstance(results, tuple)
        if self._writes is not None:
            argument, result = self._writes
            written = graph.find_nodes(op="placeholder")[argument]
            new = results[result]
            if value(new).shape != value(written).shape:
                new = graph.call_function(aten.view.default, (new, list(value(written).shape)))
                new.meta["val"] = value(results[result]).view(value(written).shape)
            graph.call_function(aten.copy_.default, (written, new)).meta["val"] = value(written)
            results = (*results[:result], *results[result + 1 :])
        output = graph.output(results)
        output.meta["user_visible_output_idxs"] = list(range(len(results)))  # their strides are what others rely on
        return graph


def _apart(results: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The results, each in memory of its own: who writes over one must not write over another, or over an argument."""
    taken = {storage_address(tensor) for tensor in inputs}
    own = []
    for tensor in results:
        own.append(tensor.clone() if storage_address(tensor) in taken else tensor)
        taken.add(storage_address(own[-1]))
    return own


def _layout(found: fx.Node) -> Layout:
    tensor = value(found)
    return list(tensor.shape), list(tensor.stride()), str(tensor.dtype).removeprefix("torch.")


def distinct(kernels: Iterable[FusedKernel]) -> list[FusedKernel]:
    """Each of them once."""
    return list({id(kernel): kernel for kernel in kernels}.values())


class Kernels:
    """One kernel for all groups that do the same."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._known: dict[str, FusedKernel] = {}

    def of(self, subgraph: Subgraph) -> FusedKernel:
        """The kernel of the group, which need not be compiled yet."""
        return self._known.setdefault(subgraph.key, FusedKernel(subgraph, self._compiler))
