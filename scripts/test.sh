#!/usr/bin/env bash
# Everything that CI checks. The last line says how many tests passed, failed and were skipped, as the runners counted them.
set -u
cd "$(dirname "$0")/.."
rm -rf build/results
mkdir -p build/results

trap 'trap - INT; kill 0' INT # the builds beside, too

run() { python3 scripts/results.py run "$@"; }

# build PRESET TARGET...: counts only where it fails.
build() { nice scripts/build.sh "$@" || run "$1-build" false; }

# run_ctest PRESET CTEST_ARGUMENT...: those tests of the preset that the arguments choose. Those that fail are shown again, alone,
# with what they print.
run_ctest() {
  local preset=$1
  shift
  run "$preset" ctest --preset "$preset" --quiet --output-junit "$PWD/build/results/$preset.xml" "$@" ||
    ctest --preset "$preset" --rerun-failed --output-on-failure
}

# Every test runs once under the sanitizers; those that tests/CMakeLists.txt names run again in the release build.
build release release_checks checkmate_package

# Python's tests leave cores free at times, which the compilers take at low priority. What this lane prints comes at its end.
echo "test: Python's tests; beside them the sanitizers' builds and the linters, which print to build/beside.log"
{
  build asan all
  build tsan threads_checks
  run format scripts/format.sh --check
  run clang-tidy nice python3 scripts/lint.py
} >build/beside.log 2>&1 &
run python scripts/test_python.sh tests
for check in style types install; do run "python-$check" scripts/test_python.sh "$check"; done
echo "test: waiting for the builds beside, which print to build/beside.log"
wait
cat build/beside.log

# Nothing beside these: some live off speed.
run_ctest release -L release
run_ctest asan
run_ctest tsan -R '^(Portfolio|Incumbent|Arenas|ExecutorTest)[.]'

python3 scripts/results.py total
