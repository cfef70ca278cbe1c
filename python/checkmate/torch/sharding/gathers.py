"""The collectives of a sharded step, put into its graph: parameters are gathered where they are read, gradients reduced where
they are made."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import fx

from checkmate.torch.errors import CaptureError
from checkmate.torch.fx_utils import Origin, set_origin, storage_address, tensors_of, value
from checkmate.torch.sharding.collectives import Collective, Gather, Reduce, Wire
from checkmate.torch.sharding.placement import Layout
from checkmate.torch.trace import Trace

aten = torch.ops.aten


def first_reads(trace: Trace, names: Sequence[str]) -> list[str]:
    """The parameters among these that the step reads, in the order in which it does."""
    inputs = dict(zip(trace.signature.model_inputs, trace.inputs, strict=False))
    return sorted((name for name in names if inputs[name].users), key=lambda name: min(inputs[name].users)._sort_key)


@torch.no_grad()
def with_collectives(
    trace: Trace,
    layout: Layout,
    wire: Wire | None,
    sharded: Sequence[str],
    buckets: Sequence[Sequence[str]] = (),
    accumulated: Mapping[str, torch.Tensor] | None = None,
) -> Trace:
    """The step of one rank: its inputs are shards in the place of the parameters `sharded`, and so are its gradients.

    `trace` is that of whole parameters, without gradients to add to; those are `accumulated`, of this rank. Each of the
    `buckets` is parameters that one message carries.
    """
    return _Collectives(trace, layout, wire, sharded).trace(buckets, accumulated or {})


class _Collectives:
    def __init__(self, trace: Trace, layout: Layout, wire: Wire | None, sharded: Sequence[str]) -> None:
        self._trace = trace
        self._graph = trace.graph
        self._layout = layout
        self._wire = wire
        self._sharded = sharded
        self._inputs = dict(zip(trace.signature.model_inputs, trace.inputs, strict=False))
        self._wholes: dict[str, torch.Tensor] = {name: value(self._inputs[name]) for name in sharded}
        self._aliases = _nodes_by_storage(trace.graph)

    def trace(self, buckets: Sequence[Sequence[str]], accumulated: Mapping[str, torch.Tensor]) -> Trace:
        self._check()
        carried = {name for bucket in buckets for name in bucket}
        messages = [*buckets, *([name] for name in self._sharded if name not in carried)]
        gradients = dict(self._trace.gradients)
        for names in messages:
            gradients |= self._reduce({name: gradients[name] for name in names if name in gradients})
        read = set(first_reads(self._trace, self._sharded))
        for names in messages:
            self._gather([name for name in names if name in read])
        for name in self._sharded:
            self._inputs[name].meta["val"] = self._shard(name)
        totals = [self._add(existing, gradients.pop(name)) for name, existing in accumulated.items() if name in gradients]
        return replace(
            self._trace,
            inputs=[*self._trace.inputs, *totals],
            gradients=gradients,
            signature=replace(self._trace.signature, accumulated=tuple(n for n in accumulated if n in self._trace.gradients)),
        )

    def _check(self) -> None:
        returned = set(self._trace.outputs)
        for name in self._sharded:
            if name in self._trace.updates:
                raise CaptureError(f"the step writes into parameter {name}, which is sharded: only its gradient may change it")
            if self._inputs[name] in returned:
                raise CaptureError(f"the loss function returns parameter {name}, which is sharded: return a copy of it")
            if isinstance(self._trace.gradients.get(name), list):
                raise CaptureError(f"the gradient of parameter {name} is sparse, which cannot be sharded: leave out sparse=True")

    def _gather(self, names: Sequence[str]) -> None:
        """Right before the first of them is read."""
        if not names:
            return
        shards = [self._inputs[name] for name in names]
        readers = {node: list(node.users) for node in shards}
        target = Gather(self._layout, [self._wholes[name].shape for name in names], self._wire)
        with self._graph.inserting_before(min(reader for each in readers.values() for reader in each)):
            results = self._call(target, shards, names, Origin("forward", names[0].rpartition(".")[0]))
            for name, shard, result in zip(names, shards, results, strict=True):
                whole = self._first_rows(result, self._wholes[name].shape, self._wholes[name].shape[0])
                whole.meta["val"] = self._wholes[name]
                for reader in readers[shard]:
                    reader.replace_input_with(shard, whole)

    def _reduce(self, made: Mapping[str, fx.Node]) -> dict[str, fx.Node]:
        """Right after the last of these gradients is made."""
        if not made:
            return {}
        sizes = [self._wholes[name].shape for name in made]
        target = Reduce(self._layout, sizes, self._wire, [self._is_read(node) for node in made.values()])
        with self._graph.inserting_before(max(made.values()).next):
            results = self._call(target, list(made.values()), list(made), Origin("backward"))
            return {
                name: self._first_rows(result, size, self._layout.own_rows(size))
                for name, result, size in zip(made, results, sizes, strict=True)
            }

    def _call(self, target: Collective, arguments: Sequence[fx.Node], names: Sequence[str], origin: Origin) -> list[fx.Node]:
        """Its results, one for each parameter."""
        made = self._padded if isinstance(target, Gather) else self._shard
        call = self._graph.call_function(target, tuple(arguments))
        call.meta["val"] = [made(name) for name in names]
        set_origin(call, origin)
        results = []
        for place, result in enumerate(call.meta["val"]):
            results.append(self._graph.call_function(operator.getitem, (call, place)))
            results[-1].meta["val"] = result
        return results

    def _padded(self, name: str) -> torch.Tensor:
        """In the storage of the whole parameter, in which its views are as well."""
        whole = self._wholes[name]
        size = self._layout.padded(whole.shape)
        whole.untyped_storage().resize_(size.numel() * whole.itemsize)
        return whole.as_strided(size, torch._prims_common.make_contiguous_strides_for(size))

    def _shard(self, name: str) -> torch.Tensor:
        return self._wholes[name].new_empty(self._layout.padded_shard(self._wholes[name].shape))

    def _first_rows(self, padded: fx.Node, size: torch.Size, rows: int) -> fx.Node:
        """Without the padding: on all ranks, or on none."""
        if self._layout.is_even(size):
            return padded
        view = self._graph.call_function(aten.slice.Tensor, (padded, 0, 0, rows))
        view.meta["val"] = value(padded)[:rows]
        return view

    def _is_read(self, gradient: fx.Node) -> bool:
        """Whether somebody else reads its storage than who hands it out."""
        aliases = self._aliases[storage_address(value(gradient))]
        return any(user.op != "output" and user not in aliases for alias in aliases for user in alias.users)

    def _add(self, existing: torch.Tensor, made: fx.Node) -> fx.Node:
        """Adds the gradient that was made to the existing one, right after it was made; returns the latter."""
        first_call = next(node for node in self._graph.nodes if node.op != "placeholder")
        with self._graph.inserting_before(first_call):
            total = self._graph.placeholder("total")
        total.meta["val"] = torch.empty_like(existing, device="meta")
        with self._graph.inserting_after(made):
            added = self._graph.call_function(aten.add_.Tensor, (total, made))
        added.meta["val"] = total.meta["val"]
        set_origin(added, Origin("update"))
        return total


def _nodes_by_storage(graph: fx.Graph) -> dict[int, set[fx.Node]]:
    found: dict[int, set[fx.Node]] = {}
    for node in graph.nodes:
        if node.op == "call_function":
            for tensor in tensors_of(node.meta.get("val")):
                found.setdefault(storage_address(tensor), set()).add(node)
    return found
