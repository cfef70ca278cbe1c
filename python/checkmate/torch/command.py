"""The verb `torch` of the command line, whose options the program has read: `checkmate torch MODULE:NAME`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import torch

from checkmate import Error
from checkmate._core import bytes_text
from checkmate.torch.estimate import Estimate, estimate

_DONE, _BAD_INPUT, _NO_PLAN = 0, 1, 3  # exit codes of docs/command_line.md


def main(arguments: Sequence[str]) -> int:
    """Prints the estimate, and returns the exit code. Errors are one line on stderr."""
    try:
        _run(_options(arguments))
    except (Error, TypeError) as error:  # TypeError: an option of a wrong kind
        print(f"checkmate: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("checkmate: interrupted", file=sys.stderr)
        return _NO_PLAN
    return _DONE


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("function")
    for name in ("--budgets", "--reserve", "--order", "--report", "--graph"):
        parser.add_argument(name)
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> None:
    model, loss_fn, example = _training(options.function)
    found = estimate(
        model,
        loss_fn,
        example,
        budgets=options.budgets,
        reserve=options.reserve,
        order=options.order,
        time_limit=options.time_limit,
        threads=options.threads,
        seed=options.seed,
    )
    assert isinstance(found, Estimate), "nobody asked about ranks"
    written = [path for path in (options.report, options.graph) if path]
    if options.report:
        found.report(options.report)
    if options.graph:
        found.graph.save(options.graph)
    if options.json:
        print(found.to_json())
        return
    print(found)
    for path in written:
        print(f"{path}: {bytes_text(os.path.getsize(path))}")


def _training(spec: str) -> tuple[Any, Any, Any]:
    """What the function returns, if that can be a model, a loss function and a batch."""
    module, _, name = spec.partition(":")
    if not module or not name:
        raise Error(f"{spec!r:.60} is not of the form MODULE:NAME; write train:example for the function example of train.py")
    sys.path.insert(0, os.getcwd())
    # Whatever the user's code prints must not get into the JSON.
    with contextlib.redirect_stdout(sys.stderr):
        function = _function(module, name)
        with _explained(f"{spec}()"):
            returned = function()
    if not isinstance(returned, (tuple, list)) or len(returned) != 3:
        raise Error(f"{spec}() returned {_described(returned)}; return (model, loss_fn, example)")
    model, loss_fn, example = returned
    if not isinstance(model, torch.nn.Module) or not callable(loss_fn):
        raise Error(
            f"{spec}() returned {_described(model)} and {_described(loss_fn)} for the model and the loss function; "
            "return (model, loss_fn, example), in this order"
        )
    return model, loss_fn, example


def _function(module: str, name: str) -> Any:
    with _explained(f"importing {module}"):
        try:
            function = getattr(import_module(module), name, None)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            raise Error(f"there is no module {error.name}; run this in its folder, or set PYTHONPATH to it") from None
    if not callable(function):
        raise Error(f"the module {module} has no function {name}; name one that returns (model, loss_fn, example)")
    return function


@contextlib.contextmanager
def _explained(doing: str) -> Iterator[None]:
    """What the user's code raises, as a sentence with its place."""
    try:
        yield
    except (Error, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: a script without a main guard must not end this one without a word
        told = str(error).strip().partition("\n")[0]
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = "" if isinstance(error, SyntaxError) else f" at {last.filename}:{last.lineno}"  # its message has the place
        message = f"{type(error).__name__}: {told}" if told else type(error).__name__
        raise Error(f"{doing} raised {message}{place}; run it in Python to see more") from None


def _described(thing: Any) -> str:
    if isinstance(thing, (tuple, list)):
        return f"a {type(thing).__name__} of {len(thing)}"
    return "nothing" if thing is None else f"a {type(thing).__name__}"
