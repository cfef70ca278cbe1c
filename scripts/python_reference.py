"""Prints docs/python_reference.md: what the package says of itself, its public names with their signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from types import ModuleType
from typing import Any

import checkmate
import checkmate.torch

HEAD = """# Python reference

Every public name of the package, from its docstrings, written by `scripts/write_reference.sh`. How they go together:
[Python](python.md), [PyTorch](pytorch.md)."""
WIDTH = 110


def described(text: str | None) -> str:
    """A docstring in Markdown."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", inspect.cleandoc(text or ""))
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    example = re.compile(r"^>>> .*(?:\n(?!\n).*)*", re.MULTILINE)
    return example.sub(lambda block: textwrap.indent(block[0], "    "), text)


def source_of(thing: Any) -> Any:
    """The class or function as it is written."""
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def called(name: str, function: ast.FunctionDef) -> str:
    """`name(arguments) -> result`."""
    arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(function.args)).replace("'", '"')
    arguments = re.sub(r"(?<=[\w\]])=", " = ", arguments)
    result = ast.unparse(function.returns) if function.returns else "None"
    return f"{name}({arguments})" + ("" if result == "None" else f" -> {result}")


def broken_into_lines(signature: str) -> str:
    """An argument a line where it is long."""
    if len(signature) <= WIDTH:
        return signature
    begin, end = signature.index("(") + 1, signature.rindex(")")
    arguments = re.split(r", (?![^\[(]*[\])])", signature[begin:end])
    return signature[:begin] + "\n    " + ",\n    ".join(arguments) + "\n" + signature[end:]


def members(cls: ast.ClassDef) -> list[tuple[str, str]]:
    """What an object has: (how it is written, what it is)."""
    spoken = {"__init__": cls.name, "__call__": "step"}
    rows = []
    for node, after in zip(cls.body, [*cls.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            name, kind = ast.unparse(node.target), ast.unparse(node.annotation)
            is_doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not name.startswith("_") and not kind.startswith("ClassVar"):
                rows.append((f"{name}: {kind}", str(after.value.value) if is_doc else ""))  # type: ignore[union-attr]
        elif isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if "property" in decorators:
                rows.append((f"{node.name}: {ast.unparse(node.returns)}", text))  # type: ignore[arg-type]
            elif node.name in spoken or not node.name.startswith("_"):
                prefix = f"{cls.name}." if "classmethod" in decorators else ""
                rows.append((called(prefix + spoken.get(node.name, node.name), node), text))
    return rows


def in_a_cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def entry(name: str, thing: Any) -> str:
    source, text = source_of(thing), described(thing.__doc__)
    if isinstance(source, ast.FunctionDef):
        return f"### `{name}`\n\n```\n{broken_into_lines(called(name, source))}\n```\n\n{text}"
    cells = [f"| `{in_a_cell(written)}` | {in_a_cell(described(what))} |" for written, what in members(source)]
    table = "\n".join(["", "", "| | |", "|---|---|", *cells]) if cells else ""
    return f"### `{name}`\n\n{text}{table}"


def section(title: str, module: ModuleType) -> str:
    things = {name: getattr(module, name) for name in module.__all__}
    functions_first = sorted(things.items(), key=lambda item: (isinstance(item[1], type), item[0].lower()))
    return "\n\n".join([f"## {title}", *(entry(name, thing) for name, thing in functions_first)])


if __name__ == "__main__":
    print("\n\n".join([HEAD, section("`checkmate`", checkmate), section("`checkmate.torch`", checkmate.torch)]))
