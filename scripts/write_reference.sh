#!/usr/bin/env bash
# Writes the references in docs/, of the command line and of Python, as the program and the package in build/ tell them. Tests compare.
set -eu
cd "$(dirname "$0")/.."

page=docs/command_line.md
reference=$(build/bin/checkmate reference)
{ sed '/^<!-- reference: /q' "$page"; echo; echo "$reference"; } >"$page.new"
mv "$page.new" "$page"

page=docs/python_reference.md
PYTHONPATH=build/python .venv/bin/python scripts/python_reference.py >"$page.new"
mv "$page.new" "$page"
