#!/usr/bin/env bash
# test_python.sh: the Python package as build.sh has put it together: its tests, its types and style, and `pip install .`.
# Leaves `PASSED FAILED SKIPPED` in build/python.counts. PYTHON is the interpreter of the build, .venv's unless told.
set -u
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
report=$PWD/build/python.xml
installed=$PWD/build/installed
passed=0
failed=0
skipped=0

count() { sed -n "s/.*<testsuite [^>]*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$report" | head -n 1; }

# check NAME COMMAND...: counts as one test, beside the others; told where it fails, with what it prints.
checks=()
check() {
  local name=$1
  shift
  { output=$("$@" 2>&1) || printf 'python: %s failed\n%s\n' "$name" "$output"; } >"build/check.${#checks[@]}" &
  checks+=($!)
}
finish_checks() {
  local i
  for i in "${!checks[@]}"; do
    if wait "${checks[$i]}" && [ ! -s "build/check.$i" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    cat "build/check.$i"
    rm "build/check.$i"
  done
}

checked="python tests/python benchmarks examples scripts"
style() { "$python" -m ruff check $checked && "$python" -m ruff format --check $checked; }
types() {
  local root=$PWD
  cd build/python || return
  MYPYPATH=.:$root/tests/python "$python" -m mypy --config-file "$root/pyproject.toml" --cache-dir "$root/build/mypy" checkmate "$root/tests/python"
}

# In the release build's folder, so that nothing is compiled a second time. Its own hints about Python would change what the tests
# are compiled with. HiGHS's package is where pip would have put it.
install() {
  rm -rf "$installed"
  "$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --target "$installed" \
    -C build-dir=build/release -C cmake.python-hints=false . || return
  ln -s "$("$python" -c 'import pathlib, highsbox; print(pathlib.Path(highsbox.__file__).parent)')" "$installed/highsbox"
  cd "$installed" || return
  PYTHONPATH=. "$python" -c '
import checkmate
assert checkmate.__file__.startswith("'"$installed"'"), checkmate.__file__
plan = checkmate.solve(checkmate.load("zoo:linear?n=8"), "60%", method="milp")
assert plan.peak <= plan.budget' && PYTHONPATH=. "$python" -m checkmate --version
}

[[ $python = /* ]] || python=$PWD/$python
rm -f "$report"
# Two at a time, a file of tests each, and so one thread for PyTorch: more would wait for one another. In the order of their names: the
# tutorial, which takes longest, comes early.
OMP_NUM_THREADS=1 PYTHONPATH=$PWD/build/python "$python" -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --junitxml="$report"
if [ -s "$report" ]; then
  failed=$(($(count failures) + $(count errors)))
  skipped=$(count skipped)
  passed=$(($(count tests) - failed - skipped))
else
  failed=1
fi
check "the types (mypy)" types
check "the style (ruff)" style
check "pip install ." install
finish_checks

echo "python: $passed passed, $failed failed, $skipped skipped"
echo "$passed $failed $skipped" >build/python.counts
[ "$failed" -eq 0 ]
