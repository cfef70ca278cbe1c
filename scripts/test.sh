#!/usr/bin/env bash
# Everything that CI checks. The last line says how many tests ran.
set -u
cd "$(dirname "$0")/.."
passed=0
failed=0
skipped=0

# The number behind a name in the first line of ctest's report: <testsuite ... tests="12" failures="0" skipped="1" ...
count() { sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1; }

# run_preset PRESET TARGET CTEST_ARGUMENT...: builds the target, runs the tests that the arguments choose.
run_preset() {
  local preset=$1 target=$2 report=build/$1/report.xml
  shift 2
  rm -f "$report"
  scripts/build.sh "$preset" "$target" && ctest --preset "$preset" --quiet --output-junit "$PWD/$report" "$@"
  if [ ! -s "$report" ]; then
    failed=$((failed + 1))
    return
  fi
  local tests failures left_out
  tests=$(count tests "$report") failures=$(count failures "$report") left_out=$(count skipped "$report")
  echo "$preset: $tests tests, $failures failed, $left_out skipped"
  # Those that failed are shown again, alone, with what they print.
  [ "$failures" -eq 0 ] || ctest --preset "$preset" --rerun-failed --output-on-failure
  passed=$((passed + tests - failures - left_out))
  failed=$((failed + failures))
  skipped=$((skipped + left_out))
}

# The Python package, of the release build.
run_python() {
  local counts
  rm -f build/python.counts
  scripts/build.sh release checkmate_package && scripts/test_python.sh
  read -ra counts <build/python.counts || counts=(0 1 0)
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skipped=$((skipped + counts[2]))
}

# Every test once, under the sanitizers; of the release build what tests/CMakeLists.txt says.
run_preset release release_checks -L release
run_python
run_preset asan all
run_preset tsan threads_checks -R '^(Portfolio|Incumbent)[.]'
if scripts/lint.sh quick; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
