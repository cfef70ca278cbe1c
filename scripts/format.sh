#!/usr/bin/env bash
# format.sh [--check]: clang-format over all our C++ and C; --check changes nothing and fails where something is not formatted.
set -eu
cd "$(dirname "$0")/.."
how=(-i)
[ "${1:-}" != --check ] || how=(--dry-run --Werror)
find include src tools python tests fuzz benchmarks examples -name '*.cc' -o -name '*.c' -o -name '*.h' | xargs clang-format "${how[@]}"
