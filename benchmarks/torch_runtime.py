"""What running a step costs beyond its kernels: eager PyTorch, the plan as a Python function, and the runtime in C++, in turns.

    python benchmarks/torch_runtime.py [--rounds 20]

Best processor time of one thread, and page faults of the last round. No budget: all three compute every op once.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import checkmate
from models.large_models import MODELS, Case
from torch_hold import eager_step


class TinyOps(nn.Module):
    """A thousand ops on eight numbers, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(200):
            x = torch.sin(x * self.weight)
        return x.sum()


def tiny_ops() -> Case:
    return Case(TinyOps(), lambda m, x: m(x), (torch.randn(8),), [])


class SmallTransformer(nn.Module):
    """Two layers on six tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 128, dropout=0.1)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 100)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.head(self.layers(self.embedding(x))).flatten(0, 1), y)


def small_transformer() -> Case:
    batch = (torch.randint(100, (6, 2)), torch.randint(100, (12,)))
    return Case(SmallTransformer(), lambda m, x, y: m(x, y), batch, [])


CASES: dict[str, Callable[[], Case]] = {
    "tiny ops": tiny_ops,
    "small transformer": small_transformer,
    **{name: MODELS[name] for name in ("GPT-2", "ResNet-50", "U-Net", "BERT")},
}


def measure(name: str, rounds: int) -> None:
    torch.manual_seed(0)
    case = CASES[name]()
    step = checkmate.compile(case.model, case.loss_fn, case.batch)
    prepared = step.prepare(case.batch)
    calls = sum(len(unit.calls) for unit in prepared.program.units)
    ways: dict[str, Callable[[], Any]] = {
        "eager": lambda: eager_step(case)(*case.batch),
        "Python function": lambda: step.execute(generated, case.batch),
        "C++": lambda: step.execute(prepared, case.batch),
    }
    generated = prepared.generated()
    best = dict.fromkeys(ways, float("inf"))
    faults = dict.fromkeys(ways, 0)
    for _ in range(rounds):
        for way, run in ways.items():
            case.model.zero_grad()
            before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.process_time()
            run()
            best[way] = min(best[way], time.process_time() - begin)
            faults[way] = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    told = [
        f"{way} {1e3 * seconds:.2f} ms ({seconds / best['eager']:.3f}; {1e6 * seconds / calls:.2f} us/op; {faults[way]} faults)"
        for way, seconds in best.items()
    ]
    print(f"{name:18} {calls:5} ops  {'  '.join(told)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.cases.split(","):
        measure(name, options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
