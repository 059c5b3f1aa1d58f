#!/usr/bin/env bash
# Runs all tests, one process for each core: in .venv, and again on Python 3.7
# with TensorFlow 1.15.5 if there is a Python 3.7 (PYTHON37=... names one).
#
#   scripts/test.sh [arguments of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

make_venv .venv "$(find_python)" test
echo "Testing with $(versions .venv)."
.venv/bin/python -m pytest -n auto --dist worksteal "$@"

if python37=$(find_python37); then
  make_venv .venv37 "$python37" test
  echo "Testing with $(versions .venv37)."
  .venv37/bin/python -m pytest -n auto --dist worksteal "$@"
else
  echo 'NOT tested on TensorFlow 1.15.5: no Python 3.7 found (PYTHON37=...).'
fi
