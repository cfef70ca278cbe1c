#!/usr/bin/env bash
# test_python.sh [tests|types|style|install]: checks of the Python package as build.sh has put it together; all of them by default.
# PYTHON is the interpreter of the build, by default .venv's. The tests' results go to build/results/python.xml.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-$root/.venv/bin/python}
installed=$root/build/installed
export PYTHONDONTWRITEBYTECODE= # where it is set, each of the many processes that tests start would compile torch's modules again

# Two at a time, one file of tests each, and so one thread for PyTorch: more would wait for one another. In the order of their
# names: the tutorial, which takes longest, comes early.
check_tests() {
  OMP_NUM_THREADS=1 PYTHONPATH=$root/build/python "$python" -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder \
    --junitxml="$root/build/results/python.xml"
}

check_style() {
  local checked="python tests/python benchmarks examples scripts"
  "$python" -m ruff check --quiet $checked
  "$python" -m ruff format --quiet --check $checked
}

check_types() {
  cd build/python
  MYPYPATH=.:$root/tests/python:$root/scripts "$python" -m mypy --config-file "$root/pyproject.toml" --cache-dir "$root/build/mypy" \
    --no-error-summary checkmate "$root/tests/python"
}

# `pip install .` in the release build's folder, so that nothing is compiled a second time. Its own hints about Python would change
# what the tests are compiled with.
check_install() {
  rm -rf "$installed"
  "$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --target "$installed" \
    -C build-dir=build/release -C cmake.python-hints=false .
  cd "$installed"
  PYTHONPATH=. "$python" -c '
import checkmate
assert checkmate.__file__.startswith("'"$installed"'"), checkmate.__file__
plan = checkmate.solve(checkmate.load("zoo:linear?n=8"), "60%", method="milp")
assert plan.peak <= plan.budget
(highs, *_) = (line.split()[-1] for line in open("/proc/self/maps") if "libhighs" in line)
assert highs.startswith(checkmate.__path__[0]), f"{highs} is not of the package"'
  PYTHONPATH=. "$python" -m checkmate --version >/dev/null
}

if [ $# -eq 0 ]; then
  for check in tests types style install; do "$0" "$check"; done
else
  "check_$1"
fi
