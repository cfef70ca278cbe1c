#!/usr/bin/env bash
# Writes the reference at the end of docs/command_line.md, as the program in build/bin prints it. A test compares them.
set -eu
cd "$(dirname "$0")/.."
page=docs/command_line.md
reference=$(build/bin/checkmate reference)
{ sed '/^<!-- reference: /q' "$page"; echo; echo "$reference"; } >"$page.new"
mv "$page.new" "$page"
