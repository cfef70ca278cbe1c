"""A share of memory in bytes: once for all steps over the same models."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import torch
from torch import nn
from torch.utils.weak import WeakTensorKeyDictionary

from checkmate.torch.options import Options


class Budgets:
    """What the graphs of a step may take.

    Bytes are for all steps. A share is one of what a step takes without recomputation, from its first batch on: another model,
    or a step over more models, has a share of its own. A step is known by the sets of parameters that its graphs read, which
    are numbered: graphs of one model for several shapes read the same set.
    """

    def __init__(self, options: Options) -> None:
        self.asked = options
        self._is_share = isinstance(options.budget, str) and "%" in options.budget
        self._sets: dict[int, WeakTensorKeyDictionary] = {}  # the parameters are the keys
        self._fixed: dict[frozenset[int], int] = {}  # the bytes of a step

    def weights_of(self, inputs: Sequence[torch.Tensor]) -> int:
        """The number of the set of parameters that a graph with these inputs reads."""
        self._forget_models_that_are_gone()
        read: list[torch.Tensor] = [t for t in inputs if isinstance(t, nn.Parameter)]
        read = read or [t for t in inputs if t.is_leaf and t.requires_grad]
        for number, known in self._sets.items():
            if len(known) == len(read) and all(parameter in known for parameter in read):
                return number
        number = max(self._sets, default=-1) + 1
        self._sets[number] = WeakTensorKeyDictionary(dict.fromkeys(read))
        return number

    def options_for(self, weights: Collection[int], existing: int = 0) -> Options:
        """Those of graphs that read these sets. A share has room for gradients that exist already, in addition."""
        steps = [step for step in self._fixed if step.issuperset(weights)]
        if not steps:
            return self.asked
        return replace(self.asked, budget=self._fixed[min(steps, key=len)] + existing)  # the graphs may be a part of it

    def is_fixed(self, weights: Collection[int]) -> bool:
        """Whether a step over just these sets has its bytes."""
        return not self._is_share or frozenset(weights) in self._fixed

    def fix(self, weights: Collection[int], budget: int) -> None:
        """From now on, the share of such a step is this many bytes."""
        self._fixed[frozenset(weights)] = budget

    def _forget_models_that_are_gone(self) -> None:
        self._sets = {number: known for number, known in self._sets.items() if len(known)}
        self._fixed = {step: budget for step, budget in self._fixed.items() if self._sets.keys() >= step}
