"""For real: the same model and batch in processes whose address space is limited. Eager PyTorch dies of memory, ours trains.

python benchmarks/torch_limited.py [--share 0.6]

Training gets the budget and 2%. Compiling, which loads code and searches with several threads, gets 512 MiB more.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

import torch

import checkmate
from models.large_models import Case, unet
from torch_hold import eager_step

MIB = 2**20
COMPILE_SLACK = 512 * MIB  # threads, the solver, code that is loaded on first use, and what malloc cannot reuse
STEPS = 3


def limit_to(more: int) -> None:
    """From now on this process gets at most so many bytes of address space more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))


def large_case() -> Case:
    torch.manual_seed(0)
    case = unet()
    x, y = case.batch
    return case._replace(batch=(x.repeat(10, 1, 1, 1), y.repeat(10, 1, 1)))


def child(how: str, allowed: int) -> None:
    case = large_case()
    eager_step(case._replace(batch=tuple(t[:1] for t in case.batch)))(*(t[:1] for t in case.batch))  # loads the kernels
    case.model.zero_grad()
    optimizer = torch.optim.SGD(case.model.parameters(), lr=1e-2)
    fixed = sum(t.nbytes for t in [*case.model.parameters(), *case.model.buffers(), *case.batch])
    room = allowed - fixed  # parameters, buffers and the batch are there already
    limit_to(room + COMPILE_SLACK)
    step = eager_step(case)
    if how == "checkmate":
        step = checkmate.compile(case.model, case.loss_fn, case.batch, allowed, time_limit=5)
        print(f"  plan: {str(step.plan).splitlines()[0]}")
    limit_to(room + room // 50)
    for _ in range(STEPS):
        optimizer.zero_grad()
        print(f"  loss {float(step(*case.batch)):.5f}")
        optimizer.step()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.6, help="of what the step takes without recomputation")
    parser.add_argument("--child", choices=["eager", "checkmate"])
    parser.add_argument("--bytes", type=int)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.bytes)
        return 0
    case = large_case()
    whole = checkmate.compile(case.model, case.loss_fn, case.batch, costs="flops").plan.peak
    allowed = int(whole * options.share)
    print(f"U-Net, batch of {len(case.batch[0])}: {whole / MIB:.0f} MiB without recomputation, {allowed / MIB:.0f} MiB allowed")
    codes = {}
    for how in ("eager", "checkmate"):
        print(f"{how}:", flush=True)
        command = [sys.executable, __file__, "--child", how, "--bytes", str(allowed)]
        seen = subprocess.run(
            command, env={**os.environ, "MALLOC_ARENA_MAX": "1"}, stderr=subprocess.PIPE, text=True, check=False
        )
        codes[how] = seen.returncode
        if seen.returncode:
            print(f"  died with exit code {seen.returncode}: {seen.stderr.strip().splitlines()[-1][:200]}", flush=True)
    good = codes["eager"] != 0 and codes["checkmate"] == 0
    print("eager dies of memory, ours trains" if good else "NOT as it should be")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
