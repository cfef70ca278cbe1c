"""The scripts that CI trusts: counting results, and choosing the files for clang-tidy."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import lint
import results


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    return tmp_path


def test_counts_what_ctest_writes(folder: Path) -> None:
    (folder / "asan.xml").write_text(
        '<testsuite tests="4" failures="1">'
        '<testcase name="A" classname="A" status="run"/>'
        '<testcase name="B" classname="B" status="fail"><failure message="Failed"/></testcase>'
        '<testcase name="C" classname="C" status="notrun"><skipped message="SKIP_RETURN_CODE=1"/></testcase>'
        '<testcase name="D" classname="D" status="disabled"/></testsuite>'
    )
    assert results.count(folder / "asan.xml") == Counter(passed=1, failed=1, skipped=2)


def test_counts_what_pytest_writes(folder: Path) -> None:
    (folder / "python.xml").write_text(
        '<testsuites><testsuite tests="3"><testcase classname="m" name="a"/>'
        '<testcase classname="m" name="b"><failure/></testcase><testcase classname="m" name="b"><error/></testcase>'
        '<testcase classname="m" name="c"><skipped/></testcase></testsuite></testsuites>'
    )
    assert results.count(folder / "python.xml") == Counter(passed=1, failed=1, skipped=1)


def test_adds_up_all_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.run("good", ["true"]) == 0
    assert results.run("bad", ["false"]) == 1
    assert results.total() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"
    assert {file.name for file in folder.iterdir()} == {"good.xml", "bad.xml"}


def test_no_result_is_no_success(folder: Path) -> None:
    assert not list(folder.iterdir())
    assert results.total() == 1


def test_a_runner_that_dies_after_its_report_counts_as_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = "<testsuite><testcase name='a'/></testsuite>"
    code = f"import pathlib, sys; pathlib.Path({str(folder / 'suite.xml')!r}).write_text({report!r}); sys.exit(3)"
    assert results.run("suite", [sys.executable, "-c", code]) == 3
    assert results.total() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """a.cc includes a.h, which includes b.h."""
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.cc").write_text('#include "a.h"\n#include <vector>\nint a() { return 1; }\n')
    (tmp_path / "src/a.h").write_text('#include "b.h"\nint a();\n')
    (tmp_path / "src/b.h").write_text("int b();\n")
    return tmp_path / "src"


@pytest.mark.parametrize(
    ("file", "added", "is_checked_again"),
    [
        ("a.cc", "int c;\n", True),
        ("a.cc", "// NOLINT(all)\n", True),
        ("a.h", "int c;\n", True),
        ("a.cc", "\n  // why\n", False),
        ("b.h", "int c;\n", False),  # only what a.cc itself includes counts
    ],
)
def test_a_change_is_checked_again(file: str, added: str, is_checked_again: bool, sources: Path) -> None:
    before = lint.entry(sources / "a.cc", "checks")
    (sources / file).write_text((sources / file).read_text() + added)
    assert (lint.entry(sources / "a.cc", "checks") != before) == is_checked_again


def test_other_checks_check_everything_again(sources: Path) -> None:
    assert lint.entry(sources / "a.cc", "checks") != lint.entry(sources / "a.cc", "more checks")
