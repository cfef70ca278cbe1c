#!/usr/bin/env bash
# From a network to a plan, a proof and pictures. Needs `checkmate` on the PATH; writes into the folder that it is run in.
set -eu
network='zoo:unet?batch=32'

checkmate info "$network"                                              # how much it takes, and the least that is possible
checkmate sweep "$network" --budgets 90%..40%:10% --time-limit 0.5     # what each budget costs
checkmate solve "$network" --budget 50% --time-limit 5 --plan plan.json
checkmate verify "$network" --plan plan.json                           # replayed by code that knows no solver
checkmate plot timeline "$network" --plan plan.json -o memory.svg
checkmate report "$network" --plan plan.json --methods none -o report.html
