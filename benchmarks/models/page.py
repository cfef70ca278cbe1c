"""`docs/models.md`, from the records of a run."""

from __future__ import annotations

import platform
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

MIB = 2**20
Record = dict[str, Any]

_INTRODUCTION = """\
{count} small models of {architectures} architectures, each compiled as a new user would, planned at {budgets}, and verified on
two batches against eager PyTorch and against the same step without recomputation. `benchmarks/torch_models.py` wrote this page
with {versions}, on one thread of an {machine} processor. Where no plan fits a budget, a larger one is taken: {larger} models,
which are listed at the end."""

_TABLE = """
Peaks are measured, in MiB, and include parameters and the batch. The slow-down is the predicted one
at the smaller budget. Seconds are those of the whole row: capture, timing of ops, three plans and
four verifications.

| model | parameters | ops | outcome | eager | {budgets} | slow-down | seconds |
|---|---:|---:|---|---:|{rules}---:|---:|
"""


def markdown(records: Sequence[Record], outcomes: Mapping[str, str], budgets: Sequence[str]) -> str:
    counts = Counter(record["outcome"] for record in records)
    libraries = ("torch", "transformers", "timm", "diffusers")
    introduction = _INTRODUCTION.format(
        count=len(records),
        architectures=len({record["architecture"] for record in records}),
        budgets=" and ".join(budgets),
        versions=", ".join(f"{library} {metadata.version(library).partition('+')[0]}" for library in libraries),
        machine=platform.machine(),
        larger=sum(bool(record.get("notes")) for record in records),
    )
    page = f"# Models\n\n{textwrap.fill(introduction, 100)}\n\n| outcome | models | meaning |\n|---|---:|---|\n"
    page += "".join(f"| {outcome} | {counts[outcome]} | {meaning} |\n" for outcome, meaning in outcomes.items())
    page += _TABLE.format(budgets=" | ".join(budgets), rules="---:|" * len(budgets))
    page += "".join(_row(record, budgets) for record in records)
    reasons = [record for record in records if record["outcome"] != "holds"]
    if reasons:
        page += "\n## Those that do not hold\n\n| model | outcome | reason |\n|---|---|---|\n"
        page += "".join(f"| {r['model']} | {r['outcome']} | {_escaped(r.get('reason', ''))} |\n" for r in reasons)
    notes = [record for record in records if record.get("notes")]
    if notes:
        page += "\n## Budgets that no plan fits\n\n| model | note |\n|---|---|\n"
        page += "".join(f"| {r['model']} | {'; '.join(r['notes'])} |\n" for r in notes)
    return page


def _row(record: Record, budgets: Sequence[str]) -> str:
    runs = record.get("runs") or []
    peaks = {run["share"]: f"{run['measured_peak'] / MIB:.1f}" for run in runs}
    cells = [
        record["model"],
        f"{record['parameters'] / 1e6:.2f} M" if "parameters" in record else "",
        str(record.get("ops", "")),
        record["outcome"],
        f"{runs[0]['eager_peak'] / MIB:.1f}" if runs else "",
        *(peaks.get(budget, "") for budget in budgets),
        f"{runs[-1]['predicted_overhead']:.3f}" if runs else "",
        f"{record['total_seconds']:.0f}",
    ]
    return f"| {' | '.join(cells)} |\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
