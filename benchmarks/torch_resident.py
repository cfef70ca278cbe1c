"""Resident memory of the process: plain PyTorch, and planned steps at several budgets, each in a process of its own.

    python benchmarks/torch_resident.py [--models GPT-2,T5] [--budgets eager,100,60,35,least] [--json OUT]

Memory is the highest resident memory while three steps run, above that of the process after a first step and with all memory
returned that can be: the model, the batch, and kernels as oneDNN compiles them are there, tensors of a step are not. What a plan
needs is its predicted peak without parameters, buffers and batch. The second figure is above the process before compile().
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import checkmate
from checkmate.torch.runtime import release_memory
from models.large_models import MODELS, Case
from torch_hold import eager_step

MIB = 2**20
STEPS = 3
Record = dict[str, Any]


def status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def settle() -> None:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def watched(case: Case, step: Callable[..., Any]) -> Record:
    """The highest resident memory of some steps, their page faults and their time."""
    step(*case.batch)
    case.model.zero_grad()
    release_memory()
    settle()
    before_steps = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the highest resident memory begins anew
    times, faults = [], []
    for _ in range(STEPS):
        faults_before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.process_time()
        loss = step(*case.batch)
        times.append(time.process_time() - begin)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults_before)
        case.model.zero_grad()
        del loss
    return {"before": before_steps, "highest": status("VmHWM"), "seconds": min(times), "faults": faults[-1]}


def child(name: str, budget: str, time_limit: float) -> Record:
    torch.manual_seed(0)
    case = MODELS[name]()
    settle()
    loaded = status("VmRSS")
    if budget == "eager":
        return {"loaded": loaded, **watched(case, eager_step(case))}
    asked: str | int = f"{budget}%" if budget != "least" else 1
    try:
        step = checkmate.compile(case.model, case.loss_fn, case.batch, asked, time_limit=time_limit)
    except checkmate.InfeasibleError as error:
        if error.sufficient is None:
            raise
        step = least_step(case, error.sufficient, time_limit)
    seen = watched(case, step)
    addresses = step._latest.addresses
    return {
        "loaded": loaded,
        "planned": step.plan.peak - step.graph.fixed_bytes,
        "budget": step.plan.budget - step.graph.fixed_bytes,
        "arena": addresses.total if addresses else None,
        "overhead": step.plan.overhead,
        "unplanned": getattr(step._latest.execution, "unplanned", None),
        **seen,
    }


def least_step(case: Case, budget: int, time_limit: float) -> checkmate.torch.Step:
    """Within a budget that is known to suffice, or little more: the arena must fit as well."""
    try:
        return checkmate.compile(case.model, case.loss_fn, case.batch, budget, time_limit=time_limit)
    except checkmate.NoPlanError as error:
        return least_step(case, max(error.sufficient or 0, budget + budget // 200), time_limit)


def line(record: Record) -> str:
    taken = (record["highest"] - record["before"]) / MIB
    text = f"{record['model']:10} {record['budget_asked']:>6}  {taken:8.1f}"
    if "planned" in record:
        planned, arena = record["planned"] / MIB, (record["arena"] or 0) / MIB
        over = f"{100 * (taken / planned - 1):+6.1f}% {taken - planned:+6.1f}"
        text += f"  {planned:8.1f}  {arena:8.1f}  {over}  {record['overhead']:.3f}"
    else:
        text += " " * 43
    since_loaded = (record["highest"] - record["loaded"]) / MIB
    return f"{text}  {since_loaded:8.1f}  {record['seconds']:6.2f}  {record['faults']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="GPT-2,ResNet-50,BERT,U-Net,Llama,T5")
    parser.add_argument("--budgets", default="eager,100,60,35,least", help="in percent; eager; least")
    parser.add_argument("--time-limit", type=float, default=5, metavar="SECONDS", help="of each search for a plan (5)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="one JSON record per line")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(*options.child, options.time_limit)))
        return 0
    print("MiB: resident memory of the steps, planned peak, arena, difference, overhead; above the loaded model; CPU s; faults")
    records = []
    for name in options.models.split(","):
        for budget in options.budgets.split(","):
            command = [sys.executable, __file__, "--child", name, budget, "--time-limit", str(options.time_limit)]
            seen = subprocess.run(command, env=os.environ, stdout=subprocess.PIPE, text=True, check=True)
            records.append({"model": name, "budget_asked": budget, **json.loads(seen.stdout.splitlines()[-1])})
            print(line(records[-1]), flush=True)
    if options.json:
        options.json.write_text("".join(json.dumps(record) + "\n" for record in records))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
