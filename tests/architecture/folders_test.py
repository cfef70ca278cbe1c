"""The tree keeps to the table of folders.py, and folders.py finds what breaks it."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import folders

LIBRARIES = {
    "src/io/json_reader.cc": "#include <simdjson.h>\n",
    "src/lp/highs.cc": "#include <interfaces/highs_c_api.h>\n",
    "tools/checkmate/parser.cc": "#include <CLI/CLI.hpp>\n",
    "src/plot/canvas.cc": "#include <cairo.h>\n",
    "python/bindings/module.cc": "#include <nanobind/nanobind.h>\n",
}
NAMES = ("simdjson", "HiGHS", "CLI11", "cairo", "nanobind")
TREE = {
    **LIBRARIES,
    "CONTRIBUTING.md": ", ".join(f"{name} in `{path}`" for name, path in zip(NAMES, LIBRARIES, strict=True)),
    "src/components.cmake": "component(core FOLDERS core solve LINKS fmt\n  HEADERS graph.h solve.h)\n",
    "include/checkmate/graph.h": "",
    "include/checkmate/solve.h": '#include "checkmate/graph.h"\n',
    "src/core/graph.cc": '#include "checkmate/graph.h"\n',
    "src/core/text.h": "",
    "src/solve/solve.cc": '#include <string>\n#include "checkmate/solve.h"\n#include "core/text.h"\n',
}
TABLE = {
    "<core>": "",
    "<solve>": "<core>",
    "core": "<core>",
    "solve": "<solve> core",
    **dict.fromkeys(("io", "lp", "plot", "tools/checkmate", "python/bindings"), ""),
}


class ThisTree(unittest.TestCase):
    def test_keeps_to_the_table(self) -> None:
        wrong = folders.mistakes(folders.ROOT, folders.TABLE)
        assert not wrong, "\n".join(wrong)

    def test_shows_the_table_in_its_docs(self) -> None:
        wrong = folders.page_mistakes(folders.ROOT, folders.TABLE)
        assert not wrong, "\n".join(wrong)


class MadeUpTree(unittest.TestCase):
    def mistakes(self, changes: dict[str, str] | None = None, table: dict[str, str] | None = None) -> list[str]:
        """What is wrong with TREE once these files and rows are other ones."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, **(changes or {})}.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return folders.mistakes(Path(folder), {**TABLE, **(table or {})})

    def test_is_fine_as_it_is(self) -> None:
        assert not self.mistakes()

    def test_forbidden_include_is_told_with_its_place_and_both_folders(self) -> None:
        wrong = self.mistakes({"src/core/text.cc": '#include "core/text.h"\n#include "lp/program.h"\n', "src/lp/program.h": ""})
        assert wrong == ['src/core/text.cc:2: core may not include lp ("lp/program.h")'], wrong

    def test_forbidden_public_header_is_told(self) -> None:
        wrong = self.mistakes({"src/core/text.h": "#include <checkmate/solve.h>\n"})
        assert wrong == ['src/core/text.h:1: core may not include <solve> ("checkmate/solve.h")'], wrong

    def test_cycle_is_told_although_both_includes_are_allowed(self) -> None:
        wrong = self.mistakes({"src/core/text.h": '#include "solve/a.h"\n', "src/solve/a.h": ""}, {"core": "<core> solve"})
        assert wrong == ["the table: core names solve, which is not above it; a cycle: core -> solve -> core"], wrong

    def test_row_out_of_order_is_told(self) -> None:
        changes = {"src/core/text.h": '#include "lp/program.h"\n', "src/lp/program.h": ""}
        wrong = self.mistakes(changes, {"core": "<core> lp"})
        assert wrong == ["the table: core names lp, which is not above it; move the row down"], wrong

    def test_edge_that_nothing_uses_is_told(self) -> None:
        wrong = self.mistakes(table={"solve": "<core> <solve> core"})
        assert wrong == ["the table: solve no longer includes <core>; remove it from the row"], wrong

    def test_folder_without_a_row_is_told(self) -> None:
        wrong = self.mistakes({"src/new/a.cc": "#include <string>\n"})
        assert wrong == ["src/new/a.cc:1: the folder src/new has no row in the table"], wrong

    def test_library_in_another_file_is_told(self) -> None:
        wrong = self.mistakes({"src/solve/a.cc": "#include <cairo-svg.h>\n"})
        assert wrong == ["src/solve/a.cc:1: only src/plot/canvas.cc may include cairo (<cairo-svg.h>)"], wrong

    def test_library_that_its_file_no_longer_includes_is_told(self) -> None:
        wrong = self.mistakes({"src/plot/canvas.cc": ""})
        assert wrong == ["CONTRIBUTING.md: src/plot/canvas.cc does not include cairo"], wrong

    def test_tests_of_no_folder_are_told(self) -> None:
        wrong = self.mistakes({"tests/sulve/a_test.cc": ""})
        assert wrong == ["tests/sulve/a_test.cc: tests mirror src, and there is no src/sulve"], wrong


if __name__ == "__main__":
    unittest.main()
