#!/usr/bin/env bash
# What the project does: all methods on a network of the paper, then a real training run in half the memory.
set -eu
cd "$(dirname "$0")/.."
echo "U-Net, batch 32, 416 x 608 pixels, at 60% of the memory that it needs to keep everything (half a minute):"
echo
build/bin/checkmate compare 'zoo:unet?batch=32' --budget 60% --time-limit 10 --threads 2 \
  --methods keep-all,ap-sqrt,ap-greedy,linear-sqrt,linear-greedy,last-node,lp-round,milp,auto
cat <<'TEXT'

Each row is a way to train within the budget by dropping tensors and computing them again; overhead 1.25x means a quarter more work.
A method that does not fit shows the least peak that it can reach; gap is how far its plan can be from the best possible one, at most.
Cutting the network into segments (linear-greedy) makes it fit; asking the paper's optimisation problem (lp-round, milp) makes it cheap;
our own solver (auto) finds the best plan there is, proves it, and takes a fraction of a second.
TEXT

echo
echo "And for real: GPT-2 trained with PyTorch, as usual and in half of that memory (a minute or two):"
echo
isa=$(PYTHONPATH=build/python .venv/bin/python -P python/checkmate/torch/processor.py) # says so where PyTorch's fastest kernels would end the process
env $isa PYTHONPATH=build/python .venv/bin/python examples/python/train.py
