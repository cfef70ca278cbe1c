from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from conftest import RunPython


def solving(seconds: float, options: str = "") -> str:
    """A script. Annealing alone never has enough, so that it takes its time."""
    return f"""
import checkmate
graph = checkmate.load("zoo:unet?batch=32")
checkmate.solve(graph, "60%", method="anneal", gap=0, time_limit={seconds}{options})
"""


def on_a_terminal(script: str) -> str:
    """What the script writes to a stderr that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stderr=theirs)
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 4096):
            written += chunk
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(ours)
    assert process.wait(timeout=300) == 0
    return written.decode()


def test_a_terminal_gets_one_line_that_goes_away() -> None:
    written = on_a_terminal(solving(2))
    assert re.search(r"\r0\.\d s  best 1\.\d{4}x  bound 1\.\d{4}x  gap \d\.\d%", written)
    assert len({line.split(" s")[0] for line in written.split("\r")}) > 2  # the time goes on
    assert "\n" not in written
    assert written.endswith("\r")
    assert written.rsplit("\r", 2)[1].strip() == ""


def test_a_terminal_can_be_left_alone() -> None:
    assert on_a_terminal(solving(0.5, ", progress=False")) == ""


def test_a_file_gets_nothing(run_python: RunPython) -> None:
    finished = run_python("-c", solving(0.5))
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_a_closed_stderr_does_no_harm(run_python: RunPython) -> None:
    assert run_python("-c", "import sys; sys.stderr = None" + solving(0.5)).returncode == 0


def test_a_terminal_that_goes_away_does_no_harm(run_python: RunPython) -> None:
    pretend = """
import sys
class Gone:
    closed = False
    def isatty(self): return True
    def write(self, text): raise OSError("hung up")
    def flush(self): pass
sys.stderr = Gone()
"""
    assert run_python("-c", pretend + solving(0.5)).returncode == 0


def test_a_notebook_counts_as_a_terminal(run_python: RunPython) -> None:
    pretend = """
import sys, types
class ZMQInteractiveShell: pass
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=ZMQInteractiveShell)
"""
    finished = run_python("-c", pretend + solving(2))
    assert finished.returncode == 0
    assert "best 1.0" in finished.stderr
