#!/usr/bin/env bash
# Installs what the build and the tests need, once: Debian packages where we may, Python packages into .venv.
# Quick when all is there: `make` calls it before every build.
set -u
cd "$(dirname "$0")/.."

apt_packages=(cmake ninja-build pkg-config python3-venv python3-dev libcli11-dev libsimdjson-dev libfmt-dev libcairo2-dev libgtest-dev libgmock-dev
  librapidcheck-dev libbenchmark-dev clang clang-format clang-tidy libclang-rt-14-dev node-d3 chromium chromium-driver)
requirements=requirements.txt
stamp=.venv/.setup-$(cat scripts/setup.sh "$requirements" | sha256sum | cut -c1-16)

fail() { echo "setup: $1" >&2; exit 1; }

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' "${apt_packages[@]}" 2>/dev/null | awk '$2 == "ii" {print $1}')
  comm -23 <(printf '%s\n' "${apt_packages[@]}" | sort) <(sort <<<"$installed") | tr '\n' ' '
}

install_packages() {
  local missing=$1 as_root=""
  command -v apt-get >/dev/null || fail "this machine has no apt-get: install the equivalents of: $missing"
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || fail "no right to install packages: ask an administrator to run: apt-get install $missing"
    as_root="sudo -n"
  fi
  echo "setup: installing $missing"
  export DEBIAN_FRONTEND=noninteractive
  { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing; } >.setup.log 2>&1 ||
    fail "apt-get could not install: $missing(see .setup.log); install them by hand and run make again"
}

install_python() {
  echo "setup: Python packages into .venv"
  { [ -x .venv/bin/python ] || python3 -m venv .venv; } >.setup.log 2>&1 ||
    fail "python3 -m venv failed (see .setup.log): install python3-venv"
  .venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r "$requirements" >.setup.log 2>&1 ||
    fail "pip could not install $(grep -v '^#' "$requirements" | tr '\n' ' ')(see .setup.log): check the network, or install them into .venv by hand"
  rm -f .venv/.setup-*
  touch "$stamp"
}

if command -v dpkg-query >/dev/null; then
  missing=$(missing_packages)
  [ -z "${missing// /}" ] || install_packages "$missing"
else
  for tool in cmake ninja; do
    command -v "$tool" >/dev/null || fail "not a Debian machine: install the equivalents of: ${apt_packages[*]}"
  done
fi
[ -e "$stamp" ] || install_python
rm -f .setup.log
