"""How long it takes from `compile` to the first step, cold and a second time, each in a process of its own; and how much the
executor itself takes on a model of many tiny ops.

    python benchmarks/torch_start.py [--models gpt2_12,gpt2,resnet50] [--kernels fused]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import checkmate
from models.large_models import Case, gpt2
from torch_compare import MODELS
from torch_hold import eager_step

STARTED = {"gpt2_12": lambda: gpt2(width=768, words=50257, batch=4, length=128), **MODELS}


class TinyOps(nn.Module):
    """A thousand ops on vectors that cost nothing: what is left is the executor."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in range(250))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            x = torch.tanh(x * weight)
        return x.sum()


def start(name: str, kernels: str, cache: str) -> None:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    torch.manual_seed(0)
    case = STARTED[name]()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, "75%", kernels=kernels, cache=cache, progress=False)
    compiled = time.perf_counter()
    step(*case.batch)
    done, cpu = time.perf_counter(), time.process_time() - begin_cpu
    timings = step.timings
    print(
        f"{len(step.graph.ops)} ops: capture {timings.capture:.1f} s, kernels {timings.kernels:.1f} s, "
        f"costs {timings.costs:.1f} s, solve {timings.solve:.1f} s (overhead {step.plan.overhead:.4f}, gap {step.plan.gap:.3%}), "
        f"first step {done - compiled:.1f} s, in all {done - begin:.1f} s, {cpu:.1f} s of the processor",
        flush=True,
    )


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="gpt2_12", help=f"of {', '.join(STARTED)}")
    parser.add_argument("--kernels", default="aten", choices=("aten", "fused"))
    options = parser.parse_args()
    fresh = multiprocessing.get_context("spawn")
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as cache:
            for kind in ("cold", "second"):
                print(f"{name}, {kind}: ", end="", flush=True)
                process = fresh.Process(target=start, args=(name, options.kernels, cache))
                process.start()
                process.join()
    tiny()


if __name__ == "__main__":
    main()
