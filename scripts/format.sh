#!/usr/bin/env bash
set -eu
cd "$(dirname "$0")/.."
. scripts/our_files.sh
our_files | xargs clang-format -i
