"""``python -m checkmate``: the program of the command line, in place of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from checkmate import TorchMissingError


def main() -> NoReturn:
    """Becomes the program, so that exit codes, signals and output are its own."""
    program = Path(__file__).parent / "bin" / "checkmate"
    os.environ.setdefault("CHECKMATE_PYTHON", sys.executable)  # in which its verb `torch` runs
    os.execv(program, ["checkmate", *sys.argv[1:]])


def estimate(arguments: Sequence[str]) -> NoReturn:
    """What the program's verb `torch` becomes, once it has read the command line."""
    if find_spec("torch") is None:
        sys.exit(f"checkmate: {TorchMissingError()}")
    sys.exit(import_module("checkmate.torch.command").main(arguments))


if __name__ == "__main__":
    main()
