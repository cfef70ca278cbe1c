#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures once, then builds; quiet unless something happens.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
[ -e "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" ${1:+--target "$@"} -- --quiet
