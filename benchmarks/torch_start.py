"""How long it takes from `compile` to the first step of GPT-2 with 12 layers, cold and with remembered costs, and how much the
executor itself takes on a model of many tiny ops.

    python benchmarks/torch_start.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import checkmate
from models.large_models import Case, gpt2
from torch_hold import eager_step


class TinyOps(nn.Module):
    """A thousand ops on vectors that cost nothing: what is left is the executor."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in range(250))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            x = torch.tanh(x * weight)
        return x.sum()


def start(case: Case, cache: str) -> None:
    begin = time.perf_counter()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, "75%", cache=cache)
    compiled = time.perf_counter()
    step(*case.batch)
    done = time.perf_counter()
    timings = step.timings
    print(
        f"{len(step.graph.ops)} ops: capture {timings.capture:.1f} s, costs {timings.costs:.1f} s, solve {timings.solve:.1f} s "
        f"(overhead {step.plan.overhead:.4f}, gap {step.plan.gap:.3%}), first step {done - compiled:.1f} s, "
        f"in all {done - begin:.1f} s"
    )
    case.model.zero_grad()


def median_ms(run: Callable[[], Any], model: nn.Module, rounds: int = 30) -> float:
    times = []
    for _ in range(rounds):
        model.zero_grad()
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def tiny() -> None:
    case = Case(TinyOps(), lambda m, x: m(x), (torch.ones(8),), [])
    step = checkmate.compile(case.model, case.loss_fn, case.batch, costs="flops")
    eagerly = eager_step(case)
    ours = median_ms(lambda: step(*case.batch), case.model)
    theirs = median_ms(lambda: eagerly(*case.batch), case.model)
    print(f"{len(step.graph.ops)} tiny ops: ours {ours:.2f} ms, eager {theirs:.2f} ms")


def main() -> None:
    torch.manual_seed(0)
    case = gpt2(width=768, words=50257, batch=4, length=128)
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "cached"):
            print(f"GPT-2, 12 layers, {kind}: ", end="", flush=True)
            start(case, cache)
    tiny()


if __name__ == "__main__":
    main()
