"""The file formats' JSON Schemas and the readers agree, on what we write, on what the docs show, and on what is wrong."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import checkmate
from checkmate import Error, Graph, Plan

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
Document = dict[str, Any]


def validator(kind: str) -> Any:
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def examples() -> dict[str, Document]:
    page = (ROOT / "docs" / "file_formats.md").read_text()
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)]
    return {block["format"].removeprefix("checkmate."): block for block in blocks}


def read(kind: str, document: Document, folder: Path) -> None:
    """As the library reads it; raises an Error where it does not."""
    path = folder / "document.json"
    path.write_text(json.dumps(document))
    if kind == "graph":
        checkmate.load(str(path))
        return
    (folder / "graph.json").write_text(json.dumps(examples()["graph"]))
    graph = checkmate.load(str(folder / "graph.json"))
    if kind == "plan":
        checkmate.load_plan(path, graph)
    else:
        graph.with_cost_model(f"profile:{path}?batch=8")


def test_every_format_has_a_schema_and_an_example() -> None:
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.iterdir()} == set(examples())


@pytest.mark.parametrize("kind", ["graph", "plan", "profile"])
def test_what_the_docs_show_is_valid(kind: str, tmp_path: Path) -> None:
    validator(kind).validate(examples()[kind])
    read(kind, examples()[kind], tmp_path)


@pytest.mark.parametrize("kind", ["graph", "plan", "profile"])
def test_names_every_member_that_the_docs_list(kind: str) -> None:
    page = (ROOT / "docs" / "file_formats.md").read_text()
    section = page.split(f"`checkmate.{kind}`, version 1\n")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| `([^|]*)` \|", section, flags=re.MULTILINE))
    names = {name.rsplit(".")[-1] for entry in listed for name in entry.split("`, `")}
    assert all(f'"{name}"' in (SCHEMAS / f"{kind}.schema.json").read_text() for name in names)


@pytest.mark.parametrize("spec", ["zoo:linear?n=8", "zoo:unet?batch=2", "zoo:gpt2?batch=1", "zoo:random_layered"])
def test_what_we_write_is_valid(spec: str) -> None:
    graph = checkmate.load(spec)
    validator("graph").validate(json.loads(graph.to_json()))
    validator("plan").validate(json.loads(Plan.keep_all(graph).to_json()))


def test_every_feature_is_valid(full_featured: Graph) -> None:
    validator("graph").validate(json.loads(full_featured.to_json()))
    plan = checkmate.solve(full_featured, "100%", order="free", time_limit=1)
    validator("plan").validate(json.loads(plan.to_json()))


def member(*path: str | int, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def without(*path: str | int) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return change


WRONG: list[tuple[str, Callable[[Document], None]]] = [
    ("graph", member("format", value="checkmate.grpah")),
    ("graph", member("version", value=2)),
    ("graph", member("potato", value=1)),
    ("graph", without("ops")),
    ("graph", member("ops", value=[])),
    ("graph", member("fixed_bytes", value=-1)),
    ("graph", member("cost_unit", value=7)),
    ("graph", member("tensors", 0, "bytes", value="4 KiB")),
    ("graph", member("tensors", 0, "bytes", value=1.5)),
    ("graph", member("tensors", 0, "resident", value="yes")),
    ("graph", without("tensors", 1, "bytes")),
    ("graph", member("ops", 0, "outputs", value=[])),
    ("graph", member("ops", 0, "inputs", value=[-1])),
    ("graph", member("ops", 0, "inputs", value=[2**32])),
    ("graph", member("ops", 0, "phase", value="sideways")),
    ("graph", member("ops", 0, "cost", value=2**63)),
    ("plan", member("format", value="checkmate.graph")),
    ("plan", without("steps")),
    ("plan", member("steps", value=[0.5])),
    ("plan", member("steps", value=["linear"])),
    ("plan", member("order", value="sideways")),
    ("plan", member("frees", value=[1])),
    ("plan", member("graph_sha256", value="a potato")),
    ("plan", member("peak", value=1)),
    ("profile", member("unit", value="s")),
    ("profile", without("device")),
    ("profile", member("entries", 0, "op", value="")),
    ("profile", member("entries", 0, "batch", value=0)),
    ("profile", member("entries", 0, "kind", value="matmul")),
    ("profile", member("entries", 0, "nanoseconds", value=-5)),
    ("profile", member("entries", 2, "shape", value="400 -> 128n")),
    ("profile", without("entries", 2, "shape")),
    ("profile", without("entries", 1, "nanoseconds")),
]


@pytest.mark.parametrize(("kind", "change"), WRONG, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(WRONG)])
def test_what_is_wrong_is_refused_by_both(kind: str, change: Callable[[Document], None], tmp_path: Path) -> None:
    document = copy.deepcopy(examples()[kind])
    change(document)
    with pytest.raises(jsonschema.ValidationError):
        validator(kind).validate(document)
    with pytest.raises(Error):
        read(kind, document, tmp_path)
