#!/usr/bin/env bash
# Installs the libraries of benchmarks/torch_models.py into .venv, after scripts/setup.sh. Never brings another torch.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/python -m pip install --quiet --no-compile --no-deps --disable-pip-version-check -r benchmarks/requirements.txt
