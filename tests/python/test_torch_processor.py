"""The probe for instruction sets that a machine announces and forbids, with children that die as oneDNN's kernels would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import checkmate
from checkmate.torch import pipeline, processor
from checkmate.torch.processor import VARIABLE, use_working_isa, working_isa

SURVIVES = [sys.executable, "-c", ""]
RAISES = [sys.executable, "-c", "raise SystemExit(1)"]


def survives_with(*limits: str) -> list[str]:
    """A child that an illegal instruction ends unless one of the limits is set."""
    code = f"import os, signal\nos.environ.get('{VARIABLE}') in {limits!r} or os.kill(os.getpid(), signal.SIGILL)"
    return [sys.executable, "-c", code]


def test_leaves_the_default_where_it_works(tmp_path: Path) -> None:
    assert working_isa(SURVIVES, tmp_path) is None


def test_takes_the_first_limit_that_works(tmp_path: Path) -> None:
    assert working_isa(survives_with("AVX512_CORE", "AVX2"), tmp_path) == "AVX512_CORE"
    assert working_isa(survives_with("AVX2"), tmp_path / "other") == "AVX2"


def test_probes_the_default_although_a_limit_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "AVX2")
    assert working_isa(survives_with("AVX2"), tmp_path) == "AVX2"


def test_sets_nothing_where_no_limit_helps(tmp_path: Path) -> None:
    assert working_isa(survives_with(), tmp_path) is None


def test_sets_nothing_where_the_probe_fails_for_another_reason(tmp_path: Path) -> None:
    assert working_isa(RAISES, tmp_path) is None


def test_asks_once_per_machine(tmp_path: Path) -> None:
    assert working_isa(survives_with("AVX2"), tmp_path) == "AVX2"
    assert working_isa(SURVIVES, tmp_path) == "AVX2"


@pytest.mark.parametrize("content", ["", "{", '"AVX9000"', "[1]", "\xff", "[" * 100_000])
def test_asks_again_where_the_cache_is_damaged(content: str, tmp_path: Path) -> None:
    working_isa(SURVIVES, tmp_path)
    (file,) = (tmp_path / "isa").iterdir()
    file.write_bytes(content.encode("latin-1"))
    with pytest.warns(UserWarning, match=re.escape(f"{file} is damaged")):
        assert working_isa(survives_with("AVX2"), tmp_path) == "AVX2"
    assert working_isa(SURVIVES, tmp_path) == "AVX2"  # it was replaced


def test_works_without_a_cache(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match="Not a directory"):
        assert working_isa(survives_with("AVX2"), tmp_path / "file") == "AVX2"


def test_the_kernels_run_with_the_answer_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if isa := working_isa(folder=tmp_path):
        monkeypatch.setenv(VARIABLE, isa)
    subprocess.run([sys.executable, "-c", processor._KERNELS], check=True)


def test_says_what_it_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")  # so that it is restored after the test
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(processor, "working_isa", lambda: "AVX2")
    assert "ONEDNN_MAX_CPU_ISA=AVX2" in str(use_working_isa())
    assert os.environ[VARIABLE] == "AVX2"


def test_keeps_what_the_user_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "SSE41")
    monkeypatch.setattr(processor, "working_isa", lambda: "AVX2")
    assert use_working_isa() is None
    assert os.environ[VARIABLE] == "SSE41"


def test_as_a_script_it_does_not_load_torch(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop(VARIABLE, None)
    command = [sys.executable, "-P", "-X", "importtime", processor.__file__]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "" or run.stdout.startswith(f"{VARIABLE}=")
    assert "subprocess" in run.stderr  # what it imports is listed
    assert "torch" not in run.stderr


def test_a_step_that_would_end_the_process_is_refused_with_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(pipeline, "working_isa", lambda: "AVX2")
    model, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
    checkmate.compile(model, lambda m, x: m(x).mean(), (x,), costs="flops")  # 32-bit numbers are not at risk
    with pytest.raises(checkmate.Error, match="start Python with ONEDNN_MAX_CPU_ISA=AVX2"):
        checkmate.compile(model.bfloat16(), lambda m, x: m(x).mean(), (x.bfloat16(),), costs="flops")
    monkeypatch.setenv(VARIABLE, "AVX2")
    checkmate.compile(model, lambda m, x: m(x).mean(), (x.bfloat16(),), costs="flops")
