"""README and docs tell the truth: what they show runs, what they link to is there, what they list is complete.

Each page is followed from top to bottom, in a folder of its own. What a fence says is what becomes of a block:

    sh, sh fails    bash runs it, and it succeeds, or fails
    text            the commands before have printed it
    python          runs, or is written to the file that its first line names: `# train.py`
    cpp, c, cmake   is a file of examples/, word for word
    json            is a file of ours
    console         CI runs it elsewhere: it changes the machine, or takes long
    nothing         a drawing or a formula
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import checkmate
from conftest import RunPython
from snippets import PAGES, PROGRAM, ROOT, Block, Reader, blocks

COMMAND_LINE = ROOT / "docs/command_line.md"
REFERENCE = "<!-- reference: scripts/write_reference.sh -->\n\n"
VERBS = [block for block in blocks(COMMAND_LINE) if block.text in COMMAND_LINE.read_text().split(REFERENCE)[1]]
ALL = [block for page in PAGES for block in blocks(page)]
RUN = ("sh", "sh fails", "python")
TRAIN = """import torch


def example():
    return torch.nn.Linear(8, 8), lambda model, x: model(x).sum(), (torch.ones(4, 8),)
"""


def pages_with(*kinds: str) -> list[Path]:
    return sorted({block.page for block in ALL if block.kind in kinds})


@pytest.mark.filterwarnings("ignore:the step is")  # several graphs, which is told
@pytest.mark.parametrize("page", pages_with(*RUN), ids=lambda page: str(page.name))
def test_shows_what_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "import torch" in page.read_text() and find_spec("torch") is None:
        pytest.skip("shows PyTorch, which is not installed")
    if "import checkmate.tensorflow" in page.read_text() and find_spec("tensorflow") is None:
        pytest.skip("shows TensorFlow, which is not installed")
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    for block in blocks(page):
        reader.follow(block)


def test_knows_what_to_do_with_every_block() -> None:
    kinds = {*RUN, "text", "cpp", "c", "cmake", "json", "csv", "console", ""}
    assert [(str(block), block.kind) for block in ALL if block.kind not in kinds] == []
    commands = re.compile(r"^\s*(checkmate|python|pip|make|git|cmake|cd|export|source) ", re.MULTILINE)
    assert [str(block) for block in ALL if block.kind == "" and commands.search(block.text) and block not in VERBS] == []


@pytest.mark.parametrize("block", [block for block in ALL if block.kind in ("cpp", "c", "cmake")], ids=str)
def test_shows_code_that_is_compiled(block: Block) -> None:
    files = [path for folder in ("cpp", "c") for path in (ROOT / "examples" / folder).iterdir() if path.is_file()]
    assert block.text in [path.read_text() for path in files]


def test_shows_files_that_are_read(tmp_path: Path) -> None:
    graph_text, plan_text, layout_text, profile_text = (block.text for block in ALL if block.kind == "json")
    graph = checkmate.Graph.from_json(graph_text)
    (tmp_path / "plan.json").write_text(plan_text)
    claimed = json.loads(plan_text)
    plan = checkmate.load_plan(tmp_path / "plan.json", graph)
    assert (plan.cost, plan.peak) == (claimed["cost"], claimed["peak_bytes"])
    (tmp_path / "graph.json").write_text(graph_text)
    (tmp_path / "layout.json").write_text(layout_text)
    (blocks_text,) = (block.text for block in ALL if block.kind == "csv")
    (tmp_path / "blocks.csv").write_text(blocks_text)
    for command in (["validate", "graph.json", "--plan", "layout.json"], ["layout", "blocks.csv"]):
        subprocess.run([PROGRAM, *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "profile.json").write_text(profile_text)
    timed = graph.with_cost_model(f"profile:{tmp_path}/profile.json?batch=8")
    assert timed.keep_all_cost == 6100 + 5340  # matmul as measured, loss at 5200 + 20 x (8 - 1)


def test_commands_for_the_machine_are_those_that_ci_runs() -> None:
    known = {
        "make demo": "examples/python/train.py by test_examples.py, compare by the README's own commands",
        "make test": "CI itself",
        "make bench": "the programs are built with the tests, and run where there is time",
        "git clone https://github.com/haoming-codes/moccasin": "the tests do without the net",
        "build/bin/solve_bench --set public --graphs moccasin/data": "takes minutes",
        "make setup-demo build": "before these tests; make test installs more",
        "pip install .": "scripts/test_python.sh",
        'export PATH="$PWD/build/bin:$PWD/.venv/bin:$PATH" PYTHONPATH="$PWD/build/python"': "snippets.Reader sets the same",
    }
    shown = {line.split("#")[0].strip() for block in ALL if block.kind == "console" for line in block.text.splitlines()}
    assert shown - {""} - known.keys() == set()


def test_the_reference_of_the_command_line_is_what_the_program_prints() -> None:
    printed = subprocess.run([PROGRAM, "reference"], capture_output=True, text=True, check=True).stdout
    assert COMMAND_LINE.read_text().split(REFERENCE)[1] == printed, "run scripts/write_reference.sh"


@pytest.mark.skipif(find_spec("torch") is None, reason="tells of checkmate.torch too, which needs PyTorch")
def test_the_reference_of_python_is_what_the_package_says(run_python: RunPython) -> None:
    written = run_python(str(ROOT / "scripts/python_reference.py"))
    assert (ROOT / "docs/python_reference.md").read_text() == written.stdout, f"run scripts/write_reference.sh {written.stderr}"


def test_the_page_for_c_names_all_that_is_exported() -> None:
    page = (ROOT / "docs/c.md").read_text()
    names = (ROOT / "src/c/exports.txt").read_text().split()
    assert [name for name in names if f"`{name}()`" not in page] == []


def test_the_page_for_cpp_names_all_that_is_public() -> None:
    page = (ROOT / "docs/cpp.md").read_text()
    declared = re.compile(r"^(?:struct|class|enum class|using|(?:[\w:<>,&*\[\]]+ )+)\s*(\w+)(?:\(| \{| =| :)", re.MULTILINE)
    for header in sorted((ROOT / "include/checkmate").glob("*.h")):
        assert f"(../include/checkmate/{header.name})" in page
        names = set() if header.name == "c.h" else set(declared.findall(header.read_text())) - {"to_string"}
        assert {name for name in names if not re.search(rf"`[^`]*\b{name}\b", page)} == set(), header.name


def test_the_page_of_methods_names_all_of_them() -> None:
    page = (ROOT / "docs/methods.md").read_text()
    assert [method.name for method in checkmate.methods() if f"`{method.name}`" not in page] == []


def test_the_examples_of_the_reference_run(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    for verb in VERBS:
        _, example = verb.text.splitlines()
        if example.startswith("checkmate torch") and find_spec("torch") is None:
            continue
        options = COMMAND_LINE.read_text().split(verb.text)[1].split("\n### ")[0]
        brief = " --time-limit 0.3" if "--time-limit" in options else ""
        reader.follow(replace(verb, kind="sh", text=example + brief))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: str(page.name))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:  # the tests do without the net, so only its form
            assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/[\w.~%/+-]*)?(#[\w-]+)?", target), f"{page.name} links to {target}"
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in _anchors(there), f"{page.name} links to {target}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pictures_are_shown_somewhere() -> None:
    shown = " ".join(page.read_text() for page in PAGES)
    pictures = [path.name for path in (ROOT / "docs/images").iterdir() if path.suffix in (".svg", ".png")]
    assert [name for name in pictures if f"images/{name}" not in shown] == []
