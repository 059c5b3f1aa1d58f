#!/usr/bin/env bash
# Runs all tests in .venv, and again on Python 3.7 with TensorFlow 1.15.5 if there
# is a Python 3.7 (PYTHON37=... names one). Some wait, so one process more than
# there are cores keeps all cores busy.
#
#   scripts/test.sh [arguments of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh
processes=$(($(getconf _NPROCESSORS_ONLN) + 1))

make_venv .venv "$(find_python)" test
echo "Testing with $(versions .venv)."
.venv/bin/python -m pytest -n "$processes" --dist worksteal "$@"

if python37=$(find_python37); then
  make_venv .venv37 "$python37" test
  echo "Testing with $(versions .venv37)."
  .venv37/bin/python -m pytest -n "$processes" --dist worksteal "$@"
else
  echo 'NOT tested on TensorFlow 1.15.5: no Python 3.7 found (PYTHON37=...).'
fi
