#!/usr/bin/env bash
# lint.sh [quick]: clang-format over everything; clang-tidy over what has changed since it last passed (the stamps are in
# build/lint/clean), left out where it has to be quick: it takes longer than all else that CI does.
set -eu
cd "$(dirname "$0")/.."
. scripts/our_files.sh
our_files | xargs clang-format --dry-run --Werror

if [ "${1:-}" = quick ]; then
  echo "format: clean"
  exit
fi
cmake --preset lint >/dev/null
mkdir -p build/lint/clean
# A file is clean as long as it, our headers and the checks are what they were.
common=$( (cat .clang-tidy; our_files | grep '\.h$' | sort | xargs cat) | sha256sum)
check() {
  stamp=build/lint/clean/$( (echo "$2"; echo "$1"; cat "$1") | sha256sum | cut -c1-32)
  [ -e "$stamp" ] && return
  clang-tidy --quiet -p build/lint "$1" 2>/dev/null && touch "$stamp"
}
export -f check
# The examples and the fuzz targets are not in these compile commands.
our_files | grep '\.cc$' | grep -v -e '^fuzz/' -e '^examples/' |
  xargs -P "$(nproc)" -I{} bash -c 'check "$1" "$2"' _ {} "$common"
echo "lint: clean"
