#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures, once and whenever the presets or the installed packages change, then builds. On a
# terminal a line shows progress; elsewhere it is quiet, except for a word where it takes minutes.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
quiet=--quiet
[ ! -t 1 ] || quiet=
made=build/$preset/build.ninja
[ -e "$made" ] || echo "build: compiling ($preset), some minutes the first time"
if [ ! "$made" -nt CMakePresets.json ] || [ .venv/.installed -nt "$made" ]; then
  cmake --preset "$preset" >/dev/null
fi
cmake --build --preset "$preset" ${1:+--target "$@"} -- $quiet
