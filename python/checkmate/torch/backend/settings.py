"""What the backend is asked for: in `torch.compile(options=...)`, in a `with checkmate.options(...)`, or in the environment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checkmate import Error, _core
from checkmate.torch.backend.names import tell_accelerate
from checkmate.torch.options import Options

VARIABLE = "CHECKMATE_BUDGET"
NAMES = (
    "budget",
    "reserve",
    "kernels",
    "costs",
    "order",
    "time_limit",
    "gap",
    "patience",
    "threads",
    "seed",
    "cache",
    "progress",
)

_around: list[Mapping[str, Any]] = []


@contextlib.contextmanager
def options(**given: Any) -> Iterator[None]:
    """Options for what `torch.compile(backend="checkmate")` compiles inside: those of :func:`checkmate.compile`.

    Those that are passed to ``torch.compile`` come first; the budget may also come from the environment, as CHECKMATE_BUDGET.
    Compilation happens at the first call of the compiled model, which must be inside too. Inside, accelerate and the Trainer of
    transformers know the backend by its name.
    """
    _checked(given)
    tell_accelerate()
    _around.append(given)
    try:
        yield
    finally:
        _around.remove(given)


def current(given: Mapping[str, Any] | None) -> Options:
    """The options of a graph that is compiled now."""
    asked: dict[str, Any] = {"budget": os.environ.get(VARIABLE) or None}
    for each in (*_around, given or {}):
        _checked(each)
        asked |= each
    if asked["budget"] is None:
        raise Error(
            'the backend "checkmate" needs a budget: pass options={"budget": "2GiB"} to torch.compile, compile inside '
            f'`with checkmate.options(budget="2GiB")`, or set {VARIABLE}'
        )
    cache = asked.get("cache")
    return Options(
        budget=asked["budget"],
        reserve=asked.get("reserve", 0),
        costs=asked.get("costs", "measured"),
        order=asked.get("order", _core.default_order),
        time_limit=asked.get("time_limit", 10.0),
        gap=asked.get("gap", 2e-3),
        patience=asked.get("patience", 1.0),
        threads=asked.get("threads"),
        seed=asked.get("seed", _core.default_seed),
        cache=None if cache is None else Path(cache),
        plan=None,
        progress=asked.get("progress"),
        process_group=None,
        optimizer=None,
        kernels=asked.get("kernels", "aten"),
        deliver="now",
    )


def _checked(given: Mapping[str, Any]) -> None:
    unknown = sorted(set(given) - set(NAMES))
    if unknown:
        raise Error(f"the backend has no option {unknown[0]!r:.60}; it has {', '.join(NAMES)}")
