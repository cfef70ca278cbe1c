"""A decomposed step cut into groups of ops: those that are compiled as one kernel, and ops with kernels of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from torch import fx

from checkmate.torch.fused.min_cut import saved_values
from checkmate.torch.fused.values import Values
from checkmate.torch.op_traits import has_effect, is_random


class Late(Enum):
    """What becomes of a value that is free to compute, and that a kernel of its own reads in the backward pass."""

    COPY = "copy"  # the backward pass computes it again, once
    SPLIT = "split"  # a group of its own makes it: a plan may keep it, or run that group again
    KEEP = "keep"  # it is a result of its group like others


@dataclass
class Group:
    """Ops that run as one, in order. Some of them may run in other groups as well; what they make leaves only one of these."""

    ops: list[fx.Node]
    fused: bool
    made: list[fx.Node]  # values that only this group can hand out
    copies: list[fx.Node] = field(default_factory=list)  # values that it computes again, for kernels of the backward pass
    copies_read: set[fx.Node] = field(default_factory=set)


def grouped(values: Values, late: Late) -> list[Group]:
    """Runs of fusible ops between those with kernels of their own, in the order of the step. What nobody reads is left out."""
    return _Grouping(values, late).groups()


class _Grouping:
    def __init__(self, values: Values, late: Late) -> None:
        self.values = values
        self.late = late
        self.saved = saved_values(values, for_kernels=late is not Late.KEEP)
        self.copied: set[fx.Node] = set()
        self.done: list[Group] = []
        self.run: list[fx.Node] = []
        self.run_copies: list[fx.Node] = []

    def groups(self) -> list[Group]:
        values = self.values
        for node in values.makers():
            if values.is_fusible(node):
                self.run.append(node)
                continue
            copies_read = self._copies_for(node)
            if node not in values.early:
                self._end_run()
            self.done.append(Group([node], False, values.values_of(node), copies_read=copies_read))
        self._end_run()
        return self._needed()

    def _copies_for(self, node: fx.Node) -> set[fx.Node]:
        """What the op reads of values that nobody kept: the run before it computes them again."""
        if self.late is not Late.COPY or self.values.is_forward(node):
            return set()
        read = {v for v in self.values.reads(node) if self._is_free_later(v) and self.values.maker(v) not in self.run}
        new = sorted(read - self.copied, key=self.values.position.__getitem__)
        self.run_copies += new
        self.copied.update(new)
        return read

    def _is_free_later(self, found: fx.Node) -> bool:
        """Whether the backward pass can compute the value from what is kept, for next to nothing."""
        maker = self.values.maker(found)
        forward = maker.op != "placeholder" and self.values.is_forward(maker)
        return forward and found not in self.saved and self.values.is_free(maker)

    def _end_run(self) -> None:
        run, copies = self.run, self.run_copies
        self.run, self.run_copies = [], []
        if not run and not copies:
            return
        apart = [node for node in run if self.late is Late.SPLIT and any(map(self._is_wanted_late, self.values.values_of(node)))]
        own = [node for node in run if node not in apart]
        if own or copies:
            self.done.append(Group(self._members(run, own, copies), True, self._values_of(own), copies))
        if apart:
            self.done.append(Group(self._members([], [], self._values_of(apart)), True, self._values_of(apart)))

    def _values_of(self, ops: list[fx.Node]) -> list[fx.Node]:
        return [found for node in ops for found in self.values.values_of(node)]

    def _is_wanted_late(self, found: fx.Node) -> bool:
        readers = self.values.readers.get(found, [])
        late_kernels = (r for r in readers if not self.values.is_forward(r) and not self.values.is_fusible(r))
        return self._is_free_later(found) and any(late_kernels)

    def _members(self, run: list[fx.Node], own: list[fx.Node], again: list[fx.Node]) -> list[fx.Node]:
        """The ops of a run, and those that compute values again in it, in the order of the step."""
        members = dict.fromkeys(own, False)
        wanted = [(node, False) for node in own]
        for found in again:
            wanted.append((self.values.maker(found), True))
            members[self.values.maker(found)] = True
        while wanted:
            node, recomputing = wanted.pop()
            for found in self.values.reads(node):
                maker = self.values.maker(found)
                late = recomputing or not self.values.is_forward(node)
                if maker in members or not (maker in run or (late and self._is_free_later(found))):
                    continue
                members[maker] = maker not in run
                wanted.append((maker, maker not in run))
        return sorted(members, key=self.values.position.__getitem__)

    def _needed(self) -> list[Group]:
        """The groups without what nobody reads, last group first."""
        wanted, wanted_copies = set(self.values.outputs), set[fx.Node]()
        needed = []
        for group in reversed(self.done):
            group.made = [found for found in group.made if found in wanted]
            group.copies = [found for found in group.copies if found in wanted_copies]
            (first, *_) = group.ops
            lasting = not group.fused and (has_effect(first) or is_random(first))
            if not group.made and not group.copies and not lasting:
                continue
            if group.fused:
                group.ops = self._behind(group)
            inside = set(group.ops)
            reads = {found for node in group.ops for found in self.values.reads(node) if self.values.maker(found) not in inside}
            wanted |= reads - group.copies_read
            wanted_copies |= group.copies_read
            needed.append(group)
        return needed[::-1]

    def _behind(self, group: Group) -> list[fx.Node]:
        """Those of its ops that its results need."""
        found, inside = set[fx.Node](), set(group.ops)
        wanted = [self.values.maker(v) for v in [*group.made, *group.copies]]
        while wanted:
            node = wanted.pop()
            if node in inside and node not in found:
                found.add(node)
                wanted += [self.values.maker(v) for v in self.values.reads(node)]
        return [node for node in group.ops if node in found]
