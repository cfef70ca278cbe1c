"""When the messages of a plan start and when they are waited for: early and late enough that ops hide them, within the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from checkmate import Plan
from checkmate.torch.ir import Program
from checkmate.torch.sharding.collectives import Collective, Gather
from checkmate.torch.sharding.timeline import Event, Part

_FARTHEST = 200  # steps from a message to where it is read, or made


def at_once(program: Program, steps: Sequence[int]) -> list[Event]:
    """Every message is waited for where it starts."""
    return _events(program, steps, {}, {})


def overlapping(program: Program, plan: Plan, costs: Sequence[int], capacity: int) -> list[Event]:
    """A gather starts before the step that reads it, while there is room for its result and until the ops between take as long
    as it does; a reduction is waited for later, in the same way, while there is room for what it reads. An op hides one message.
    """
    return _Windows(program, plan, costs, capacity).events()


@dataclass
class _Windows:
    program: Program
    plan: Plan
    costs: Sequence[int]
    capacity: int
    starts: dict[int, int] = field(default_factory=dict)  # of the step of a gather, that before which it starts
    finishes: dict[int, int] = field(default_factory=dict)  # of the step of a reduction, that before which it is waited for

    def events(self) -> list[Event]:
        self.steps = self.plan.steps
        self.memory = list(self.plan.memory)
        self.sizes = [tensor.bytes for tensor in self.plan.graph.tensors]
        self.free = [not self._is_message(step) for step in range(len(self.steps))]  # to hide a message
        freed: dict[int, int] = {}  # of a tensor: the latest step after which it was
        self.frees = self.plan.frees
        for step, unit in enumerate(self.steps):
            target = self.program.units[unit].node.target
            if isinstance(target, Gather):
                made = self.program.units[unit].makes
                self._start_earlier(step, made, max((freed.get(t, -1) for t in made), default=-1) + 1)
            elif isinstance(target, Collective):
                self._finish_later(step)
            for tensor in self.frees[step]:
                freed[tensor] = step
        return _events(self.program, self.steps, self.starts, self.finishes)

    def _start_earlier(self, step: int, made: Sequence[int], earliest: int) -> None:
        needed = sum(self.sizes[t] for t in made)
        begin, hidden, earliest = step, 0, max(earliest, step - _FARTHEST)
        while begin > earliest and hidden < self.costs[self.steps[step]] and self.memory[begin - 1] + needed <= self.capacity:
            begin -= 1
            hidden += self._hide(begin)
        self._take(range(begin, step), needed)
        self.starts[step] = begin

    def _finish_later(self, step: int) -> None:
        unit = self.program.units[self.steps[step]]
        needed = sum(self.sizes[t] for t in self.frees[step] if t in unit.reads)
        makes = set(unit.makes)
        end, hidden = step + 1, 0
        while (
            end < min(len(self.steps), step + _FARTHEST)
            and hidden < self.costs[self.steps[step]]
            and self.memory[end] + needed <= self.capacity
            and not makes.intersection(self.program.units[self.steps[end]].reads)
        ):
            hidden += self._hide(end)
            end += 1
        self._take(range(step + 1, end), needed)
        self.finishes[step] = end

    def _hide(self, step: int) -> int:
        return self.costs[self.steps[step]] if self.free[step] else 0

    def _take(self, steps: range, needed: int) -> None:
        for step in steps:
            self.memory[step] += needed
            self.free[step] = False

    def _is_message(self, step: int) -> bool:
        return isinstance(self.program.units[self.steps[step]].node.target, Collective)


def _events(program: Program, steps: Sequence[int], starts: dict[int, int], finishes: dict[int, int]) -> list[Event]:
    before: dict[int, list[Event]] = {}  # what comes before a step
    for step, begin in starts.items():
        before.setdefault(begin, []).append(Event(steps[step], Part.START))
    after: dict[int, list[Event]] = {}
    for step, end in finishes.items():
        after.setdefault(end, []).append(Event(steps[step], Part.FINISH))
    events: list[Event] = []
    for step, unit in enumerate(steps):
        events += after.get(step, []) + before.get(step, [])
        if not isinstance(program.units[unit].node.target, Collective):
            events.append(Event(unit, Part.ALL))
            continue
        if step not in starts:
            events.append(Event(unit, Part.START))
        if step not in finishes:
            events.append(Event(unit, Part.FINISH))
    return events + after.get(len(steps), [])
