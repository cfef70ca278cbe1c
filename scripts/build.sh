#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures, once and when the presets change, then builds. On a terminal a line tells how far it is;
# elsewhere it is quiet, but for a word where it takes minutes.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
quiet=--quiet
[ ! -t 1 ] || quiet=
[ -d "build/$preset/CMakeFiles" ] || echo "build: compiling ($preset), some minutes the first time"
[ "build/$preset/build.ninja" -nt CMakePresets.json ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" ${1:+--target "$@"} -- $quiet
