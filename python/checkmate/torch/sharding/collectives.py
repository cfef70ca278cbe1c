"""The collectives of a sharded step as calls: they gather whole parameters, and reduce gradients to shards."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from checkmate.torch.pause import Apart
from checkmate.torch.runtime import unowned
from checkmate.torch.sharding.placement import Layout

_LATELY = 64  # collectives after which gloo has surely let go of one


class Wire:
    """How the processes of a group move rows of a buffer, one row per rank.

    Gloo's own all-gather and reduce-scatter take a second buffer of that size; a broadcast of each row, and a reduction of each
    row to its owner, take none, and less time.
    """

    def __init__(self, inner: dist.ProcessGroup, outer: dist.ProcessGroup | None = None) -> None:
        self._inner = inner
        self._outer = outer
        self.rank = dist.get_rank(inner)
        self.ranks = dist.get_world_size(inner)
        self.replicas = 1 if outer is None else dist.get_world_size(outer)
        self.takes_any_rows = dist.get_backend(inner) == "gloo"
        self._lately: deque[Sequence[torch.Tensor]] = deque(maxlen=_LATELY)
        self._global = [dist.get_global_rank(inner, rank) for rank in range(self.ranks)]

    def gather(self, rows: Sequence[torch.Tensor], whole: torch.Tensor) -> list[Any]:
        """Starts to hand this rank's row to all others, and theirs to this one. The rows make up the whole."""
        rows = self._lent(rows)
        if not self.takes_any_rows:  # not tested on a machine with GPUs
            return [dist.all_gather_single(whole, rows[self.rank], group=self._inner, async_op=True)]
        return [
            dist.broadcast(row, src=owner, group=self._inner, async_op=True)
            for row, owner in zip(rows, self._global, strict=True)
            if row.numel()
        ]

    def reduce(self, rows: Sequence[torch.Tensor], whole: torch.Tensor) -> list[Any]:
        """Starts to sum the rows over the ranks: each rank ends with the sum of its own, and of the others with anything."""
        rows = self._lent(rows)
        if not self.takes_any_rows:  # not tested on a machine with GPUs
            return [dist.reduce_scatter_single(rows[self.rank], whole, group=self._inner, async_op=True)]
        return [
            dist.reduce(row, dst=owner, group=self._inner, async_op=True)
            for row, owner in zip(rows, self._global, strict=True)
            if row.numel()
        ]

    def _lent(self, rows: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The rows for gloo's threads, which let go of them too late for a plan. The last to let go is this thread: another one
        would need the interpreter, which aborts a process that is ending."""
        if not self.takes_any_rows:
            return rows
        self._lately.append([unowned(row) for row in rows])
        return self._lately[-1]

    def reduce_over_replicas(self, shard: torch.Tensor) -> None:
        """Sums it over the ranks that hold the same shard."""
        if self._outer is not None:
            dist.all_reduce(self._lent([shard])[0], group=self._outer)

    def __str__(self) -> str:
        return f"{dist.get_backend(self._inner)} of {self.ranks} x {self.replicas}"


class Collective(Apart):
    """A call about some parameters, which one message carries. It starts, and ends later, or right away where it is called."""

    planned = True

    def __init__(self, layout: Layout, sizes: Sequence[torch.Size], wire: Wire | None) -> None:
        self.layout = layout
        self.sizes = list(sizes)  # of the whole parameters
        self._wire = wire  # None: it will never run
        self._works: list[Any] = []
        self._rest: Any = None  # what is to be done when the works are

    @property
    def wire(self) -> Wire:
        """Of the processes."""
        assert self._wire is not None, "a step that is only estimated does not run"
        return self._wire

    @property
    def is_bucket(self) -> bool:
        """Whether it carries several parameters, and so a copy of them."""
        return len(self.sizes) > 1

    @property
    def holds_a_copy(self) -> bool:
        """Whether the message is memory of its own, allocated after the results."""
        return self.is_bucket

    @property
    def elements(self) -> int:
        """That all ranks hold, padding included."""
        return self.layout.ranks * sum(map(self.layout.shard_elements, self.sizes))

    def start(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Its results, which have values when it has finished."""
        raise NotImplementedError

    def finish(self) -> None:
        """Waits for what was started."""
        works, self._works = self._works, []
        for work in works:
            work.wait()
        rest, self._rest = self._rest, None
        if rest is not None:
            rest()

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Starts and finishes."""
        results = self.start(*tensors)
        self.finish()
        return results

    def __str__(self) -> str:
        return f"{self.__name__} {[list(size) for size in self.sizes]} {self.layout.ranks} x {self.layout.replicas} {self._wire}"

    def _spans(self) -> list[tuple[int, int]]:
        """Where each parameter's shard lies in a row of a bucket."""
        ends = [0]
        for size in self.sizes:
            ends.append(ends[-1] + self.layout.shard_elements(size))
        return list(itertools.pairwise(ends))


class Gather(Collective):
    """Makes whole parameters, padded at the end, of the shards of all ranks: like any op, a plan may run it again."""

    __name__ = "gather"

    def start(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """The whole parameters."""
        wholes = [t.new_empty(self.layout.padded(size)) for t, size in zip(tensors, self.sizes, strict=True)]
        buffers = [whole.view(self.layout.ranks, -1) for whole in wholes]
        carried = tensors[0].new_empty((self.layout.ranks, self.elements // self.layout.ranks)) if self.is_bucket else buffers[0]
        own = carried[self.wire.rank]
        for tensor, (begin, end) in zip(tensors, self._spans(), strict=True):
            own[begin:end].copy_(tensor.reshape(-1))
        self._works = self.wire.gather(carried.unbind(), carried)
        if self.is_bucket:

            def unpack() -> None:
                for buffer, (begin, end) in zip(buffers, self._spans(), strict=True):
                    buffer.copy_(carried[:, begin:end])

            self._rest = unpack
        return wholes


class Reduce(Collective):
    """Makes of whole gradients the shards of their average, padded at the end. It may leave anything in the whole ones."""

    effect = True  # it runs once: what it reads is spent
    __name__ = "reduce"

    def __init__(self, layout: Layout, sizes: Sequence[torch.Size], wire: Wire | None, spared: Sequence[bool]) -> None:
        super().__init__(layout, sizes, wire)
        self._spared = spared  # gradients that others read too

    def start(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """The shards."""
        shards = [t.new_empty(self.layout.padded_shard(size)) for t, size in zip(tensors, self.sizes, strict=True)]
        rows, whole, owned = self._packed(tensors)
        self._works = self.wire.reduce(rows, whole)

        def unpack() -> None:
            for shard, (begin, end) in zip(shards, self._spans(), strict=True):
                flat, summed = shard.view(-1), owned[begin:end]
                flat[: len(summed)].copy_(summed)
                flat[len(summed) :].zero_()
                self.wire.reduce_over_replicas(flat)
                flat.div_(self.layout.ranks * self.layout.replicas)

        self._rest = unpack
        return shards

    @property
    def holds_a_copy(self) -> bool:
        """As a bucket does, and where a gradient has other readers or needs padding."""
        return not self._is_sent_as_it_is() or self._spared[0]

    def _is_sent_as_it_is(self) -> bool:
        takes_any_rows = self._wire is None or self._wire.takes_any_rows
        return not self.is_bucket and (self.layout.is_even(self.sizes[0]) or takes_any_rows)

    def _packed(self, gradients: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        """What is sent, as rows and in one piece, and this rank's row of it."""
        ranks, rank = self.layout.ranks, self.wire.rank
        if self._is_sent_as_it_is():
            (gradient,) = gradients
            whole = gradient.reshape(-1).clone() if self._spared[0] else gradient.reshape(-1)
            rows = list(whole.split(self.layout.shard_elements(self.sizes[0])))  # type: ignore[no-untyped-call]
            rows += [whole[:0]] * (ranks - len(rows))
            return rows, whole, rows[rank]
        packed = gradients[0].new_zeros((ranks, self.elements // ranks))
        for gradient, size, (begin, end) in zip(gradients, self.sizes, self._spans(), strict=True):
            self._pack(gradient.reshape(-1), size, packed[:, begin:end])
        return list(packed.unbind()), packed, packed[rank]

    def _pack(self, gradient: torch.Tensor, size: torch.Size, rows: torch.Tensor) -> None:
        width = self.layout.shard_elements(size)
        full = len(gradient) // width if width else 0
        rows[:full].copy_(gradient[: full * width].view(full, width))
        if rest := len(gradient) - full * width:
            rows[full, :rest].copy_(gradient[full * width :])
