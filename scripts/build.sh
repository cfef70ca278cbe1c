#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures, once and when the presets change, then builds; quiet unless something happens.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
[ "build/$preset/build.ninja" -nt CMakePresets.json ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" ${1:+--target "$@"} -- --quiet
