"""``python -m checkmate``: the program of the command line, in place of this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Becomes the program, so that exit codes, signals and output are its own."""
    program = Path(__file__).parent / "bin" / "checkmate"
    os.execv(program, ["checkmate", *sys.argv[1:]])


if __name__ == "__main__":
    main()
