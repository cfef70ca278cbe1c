#!/usr/bin/env bash
# setup.sh build|demo|test: installs what that command needs, once: Debian packages where we may, Python packages into .venv.
# Quick when all is there: `make` calls it before every command. build.sh configures again after .venv/.installed has changed.
set -u
cd "$(dirname "$0")/.."
purpose=${1:-build}

build_packages=(ccache cmake ninja-build python3-dev python3-venv libcairo2-dev libcli11-dev libfmt-dev libsimdjson-dev node-d3)
test_packages=(libbenchmark-dev libgmock-dev libgtest-dev librapidcheck-dev clang clang-format clang-tidy libclang-rt-14-dev
  chromium chromium-driver)

packages=("${build_packages[@]}")
case $purpose in
  build) requirements=(requirements-build.txt) ;;
  demo) requirements=(requirements-build.txt requirements-demo.txt) ;;
  test)
    requirements=(requirements-build.txt requirements-demo.txt requirements-test.txt requirements-recipes.txt
      requirements-tensorflow.txt)
    packages+=("${test_packages[@]}")
    ;;
  *)
    echo "usage: setup.sh build|demo|test" >&2
    exit 2
    ;;
esac
log=.setup.log

say() { echo "setup: $1"; }
fail() { echo "setup: $1" >&2; exit 1; }

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null | awk '$2 == "ii" {print $1}')
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort <<<"$installed") | tr '\n' ' '
}

# How many packages apt would install, and how large they are; nothing where apt does not know.
apt_forecast() {
  LC_ALL=C apt-get install --assume-no --no-install-recommends -o Debug::NoLocking=true $1 2>/dev/null |
    sed -n -e 's/.* \([0-9]*\) newly installed.*/\1 packages with what they depend on/p' \
      -e 's|^Need to get \(.*/\)\?\(.*\) of archives.*|\2 to download|p' \
      -e 's/^After this operation, \(.*\) of additional disk space will be used.*/\1 on disk/p' | paste -sd, | sed 's/,/, /g'
}

install_packages() {
  local missing=${1% } as_root="" line
  command -v apt-get >/dev/null || fail "this machine has no apt-get: install the equivalents of: $missing"
  line="apt-get install --no-install-recommends $missing"
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      fail "make $purpose needs Debian packages that only root can install ($(apt_forecast "$missing")).
Run this line, or ask an administrator to; then run make again:
    sudo $line"
    fi
    as_root="sudo -n"
  fi
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update -qq >"$log" 2>&1 || say "apt-get update failed (see $log); going on with the lists that are there"
  say "Debian packages for make $purpose ($(apt_forecast "$missing")): $missing"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >>"$log" 2>&1 ||
    fail "apt-get failed, see $log. Run this by hand, then make again: $line"
}

# install_python FILE STAMP
install_python() {
  local options=""
  # Their dependencies are in the files, or not needed; pip must not choose another torch or NumPy for them.
  case $1 in requirements-recipes.txt | requirements-tensorflow.txt) options="--no-deps " ;; esac
  say "Python packages into .venv: $(head -n 1 "$1" | cut -c 3-)"
  if [ ! -x .venv/bin/python ]; then
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "python3 is $(python3 --version 2>&1), and 3.11 or later is needed"
    python3 -m venv .venv >"$log" 2>&1 || fail "python3 -m venv failed, see $log: install python3-venv, remove .venv, then make again"
  fi
  .venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check $options-r "$1" >"$log" 2>&1 ||
    fail "pip could not install $1, see $log: check the network, or run .venv/bin/python -m pip install $options-r $1"
  rm -f "${2%-*}"-*
  touch "$2" .venv/.installed
}

if command -v dpkg-query >/dev/null; then
  missing=$(missing_packages)
  [ -z "$missing" ] || install_packages "$missing"
else
  for tool in cmake ninja; do
    command -v "$tool" >/dev/null || fail "this is not a Debian machine: install the equivalents of: ${packages[*]}"
  done
fi
for file in "${requirements[@]}"; do
  hash=$(sha256sum <"$file")
  stamp=.venv/.setup-$(basename "$file" .txt)-${hash:0:16}
  [ -e "$stamp" ] || install_python "$file" "$stamp"
done
rm -f "$log"
