#!/usr/bin/env bash
# fuzz.sh SECONDS: each target for so long, from the seeds and from what earlier runs left in build/corpus. Stops at the first
# finding, whose input is then in build/.
set -eu
cd "$(dirname "$0")/.."
for target in blocks graph node_link plan zoo; do
  mkdir -p "build/corpus/$target"
  log=build/corpus/$target.log
  if ! "build/fuzz/fuzz/fuzz_$target" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 -artifact_prefix=build/ \
    -print_final_stats=1 "build/corpus/$target" fuzz/seeds >"$log" 2>&1; then
    tail -n 40 "$log"
    echo "fuzz: $target has a finding" >&2
    exit 1
  fi
  echo "fuzz: $target, $1 s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
done
