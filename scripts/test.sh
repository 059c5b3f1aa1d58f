#!/usr/bin/env bash
# Runs the fast tests, in minutes, on the TensorFlow in .venv.
#
#   scripts/test.sh [arguments of pytest]
#   scripts/test.sh --all [arguments of pytest]
#
# --all also runs the slow ones, and repeats on Python 3.7 with TensorFlow 1.15.5
# what can differ there, if there is a Python 3.7 (PYTHON37=... names one); --rest
# runs only these. Some tests wait, so one process more than there are cores keeps
# all cores busy.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

which=--fast
case ${1:-} in --all | --rest) which=$1 && shift ;; esac

# run_tests FOLDER [arguments of pytest]: in the environment of this folder.
run_tests() {
  echo "Testing with $(versions "$1")."
  "$1/bin/python" -m pytest -n $(($(getconf _NPROCESSORS_ONLN) + 2)) \
    --dist worksteal "${@:2}"
}

make_venv .venv "$(find_python)" test
case $which in
  --fast) run_tests .venv -m 'not slow' "$@" ;;
  --rest) run_tests .venv -m slow "$@" ;;
  --all) run_tests .venv "$@" ;;
esac

if [ $which = --fast ]; then
  echo 'These were the fast tests. scripts/test.sh --all also runs clusters,' \
    'faults and long runs, and tests on TensorFlow 1.15.5.'
elif python37=$(find_python37); then
  make_venv .venv37 "$python37" test
  run_tests .venv37 "$@"
else
  echo 'NOT tested on TensorFlow 1.15.5: no Python 3.7 found (PYTHON37=...).'
fi
